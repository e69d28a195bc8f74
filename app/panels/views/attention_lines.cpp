#include "app/panels/views/attention_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/panels/compare/head_captions.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/views/token_lines.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {

void draw_attention_lines(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    StageId id = weights_of(context.view.stage);
    id.layer = std::max(id.layer, 0);
    const Matrix weights = context.beside(id, context.view.head);
    if (weights.empty()) {
        paragraph(ui, fonts.label, colors.faint, "This layer has no weights to draw.");
        return;
    }
    const HeadCaption caption = head_caption(context, id, context.view.head);
    text_line(ui, fonts.mono_small, caption.color, fmt::format("L{} H{}  {}", id.layer, context.view.head, caption.text));
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float heading = context.px(20);
    const auto rows = static_cast<float>(std::max(weights.data.rows, weights.data.cols));
    const TokenColumns columns = token_columns({at.x, at.y + heading}, room.x, std::min(context.px(64), room.x / 5),
                                               std::min((room.y - heading) / rows, context.px(24)));
    if (columns.pitch <= 0) return;
    TokenLines picture;
    picture.maps.push_back({weights, context.view.head, colors.accent, fmt::format("head {}", context.view.head)});
    picture.keys = {weights.data.cols, axis_label(context, id, Axis::S)};
    picture.queries = {weights.data.rows, axis_label(context, id, Axis::T)};
    picture.faded = 0.25F;
    if (const auto chosen = context.view.locked.on(Axis::T)) picture.only = PointedToken{Axis::T, *chosen};
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text_in(list, fonts.caption, at, {columns.line_left - context.px(6), at.y + heading}, {1, 0}, colors.axis_s, "key");
    draw_text_in(list, fonts.caption, {columns.line_right + context.px(6), at.y}, {columns.right, at.y + heading}, {0, 0}, colors.axis_t,
                 "query");
    const bool clicked = pointing_area("##lines", {room.x, std::max(room.y, 1.F)});
    const std::optional<PointedToken> pointed =
        ImGui::IsItemHovered() ? token_at(columns, ImGui::GetIO().MousePos, weights.data.cols, weights.data.rows) : std::nullopt;
    draw_token_lines(context, picture, columns, pointed);
    if (!pointed) return;
    context.view.hovered.set(pointed->axis, pointed->index);
    if (clicked) context.view.locked.set(pointed->axis, pointed->index);
    token_tooltip(context, picture, *pointed);
}

}  // namespace attn::app
