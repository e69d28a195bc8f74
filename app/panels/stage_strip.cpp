#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/colors.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/maps/stage_words.hpp"
#include "app/panels/panels.hpp"
#include "app/panels/views/equation.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/shape_text.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kItemWidth = 116, kGroupGap = 24, kFolded = 56;

/// Pixels for each stage: wide enough for the longest shape, such as that of 200 tokens. All layers have the shapes of the first.
float item_width(const PanelContext& context) {
    float shape = 0;
    for (const PlanNode& node : context.trace().plan->nodes())
        if (node.id.layer <= 0)
            shape =
                std::max(shape, runs_width(context.theme.fonts.mono_tiny, shape_runs(context.theme, context.trace().shape_of(node.id))));
    return std::max(context.px(kItemWidth), std::ceil(shape) + context.px(24));
}

/// The first tokens of the sequence as small chips: tokens have no picture of their own.
void draw_token_thumbnail(const PanelContext& context, ImDrawList& list, ImVec2 min, ImVec2 max, Stack stack) {
    const TokenBatch& batch = stack == Stack::Encoder ? context.trace().source_tokens : context.trace().tokens;
    const auto& texts = stack == Stack::Encoder ? context.snapshot.source_tokens : context.snapshot.tokens;
    if (texts.empty()) return;
    const auto& row = texts[static_cast<std::size_t>(std::min(context.view.batch, batch.size() - 1))];
    const float height = (max.y - min.y) / 3;
    for (std::size_t i = 0; i < row.size() && i < 3; ++i) {
        const float y = min.y + height * static_cast<float>(i);
        const ImVec2 low{min.x, y + context.px(1)}, high{min.x + context.px(64), y + height - context.px(1)};
        list.AddRectFilled(low, high, context.theme.colors.raised, context.px(3));
        const std::string text = elide(context.theme.fonts.mono_tiny, visible_text(row[i].text), high.x - low.x - context.px(8));
        draw_text_in(list, context.theme.fonts.mono_tiny, {low.x + context.px(4), low.y}, high, {0, 0.5F}, context.theme.colors.text, text);
    }
}

/// Of a large model what is looked at has pictures, and nothing else is computed for one.
void draw_thumbnail(PanelContext& context, ImDrawList& list, ImVec2 min, ImVec2 max, const StageId& id) {
    if (id.stage == Stage::Tokens) {
        draw_token_thumbnail(context, list, min, max, id.stack);
        return;
    }
    const Matrix matrix = context.matrices.stage(context.trace(), id, context.view.batch, context.view.head);
    if (matrix.empty()) return;
    // The picture keeps the map's proportions within the square, up to twice as wide.
    const float height = max.y - min.y;
    const float aspect = static_cast<float>(matrix.data.cols) / static_cast<float>(std::max<std::int64_t>(matrix.data.rows, 1));
    const float width = std::clamp(height * aspect, height * 0.4F, std::min(height * 1.8F, max.x - min.x));
    context.canvas.heatmap(list, min, {min.x + width, max.y}, {matrix.data, style_of(context, matrix, id)});
    draw_edited_corner(context, matrix, min, {min.x + width, max.y});
    list.AddRect(min, {min.x + width, max.y}, context.theme.colors.line);
}

/// One stage of the strip; true when it was clicked.
bool draw_item(PanelContext& context, ImVec2 at, ImVec2 size, std::size_t index) {
    const StageId& id = context.trace().plan->nodes()[index].id;
    const auto& [colors, fonts, scale] = context.theme;
    const bool current = id == context.view.stage;
    const ImVec2 end{at.x + size.x - context.px(6), at.y + size.y};
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(static_cast<int>(index));
    const std::string tooltip = fmt::format("{} ({}): {}\n{}", stage_title(id.stage), stage_symbol(id.stage), tensor_name(id),
                                            shape_words(context.trace().shape_of(id)));
    const Item item = begin_item(context.ui(), "##stage", {end.x - at.x, size.y}, {.tooltip = tooltip});
    ImGui::PopID();

    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_focus_ring(context.ui(), item, context.px(6));
    if (current || item.hovered) list.AddRectFilled(at, end, colors.raised, context.px(8));
    if (current) list.AddRect(at, end, colors.accent, context.px(8), 0, context.px(2));

    const float x = at.x + context.px(9);
    if (size.y < context.px(kFolded)) {
        draw_text_in(list, fonts.strong, {x, at.y}, end, {0, 0.5F}, current ? colors.text : colors.muted,
                     elide(fonts.strong, stage_title(id.stage), end.x - x - context.px(4)));
        return item.pressed;
    }
    const float line = context.px(15);
    const ImVec2 thumb_min{x, at.y + context.px(7) + line};
    const ImVec2 thumb_max{end.x - context.px(6), end.y - 2 * line - context.px(8)};
    const Color ink = current ? colors.text : colors.muted;
    draw_text(list, fonts.strong, {x, at.y + context.px(4)}, ink, elide(fonts.strong, stage_title(id.stage), end.x - x - context.px(4)));
    if (thumb_max.y - thumb_min.y > context.px(12)) draw_thumbnail(context, list, thumb_min, thumb_max, id);
    const float text_width_left = end.x - x - context.px(4);
    draw_text(list, fonts.mono_small, {x, end.y - 2 * line - context.px(3)}, ink,
              elide(fonts.mono_small, stage_name(id.stage), text_width_left));
    draw_shape(list, context.theme, fonts.mono_tiny, {x, end.y - line - context.px(2)}, context.trace().shape_of(id));
    return item.pressed;
}

/// "layer 0", written upwards beside the layer's first stage.
void draw_group_label(const PanelContext& context, ImVec2 at, float height, const StageId& id) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float x = at.x + context.px(kGroupGap / 2);
    std::string label = id.layer >= 0 ? "layer " + std::to_string(id.layer) : "output";
    if (id.stack == Stack::Encoder) label = "encoder " + (id.layer >= 0 ? std::to_string(id.layer) : std::string("out"));
    if (id.stack == Stack::Decoder)
        label = "decoder " + (id.layer >= 0 ? std::to_string(id.layer) : id.stage < Stage::Norm1 ? std::string("in") : std::string("out"));
    list.AddLine({at.x + context.px(4), at.y + context.px(8)}, {at.x + context.px(4), at.y + height - context.px(8)},
                 context.theme.colors.line);
    draw_text_turned(list, context.theme.fonts.mono_tiny, {x + context.px(3), at.y + height / 2}, context.theme.colors.faint, label);
}

}  // namespace

void draw_stage_strip(PanelContext& context) {
    if (!context.ready()) return;
    const auto& stages = context.trace().plan->nodes();
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float height = ImGui::GetContentRegionAvail().y;
    const float left = ImGui::GetWindowPos().x, right = left + ImGui::GetWindowWidth();
    const float width = item_width(context);
    float x = origin.x;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const StageId& id = stages[i].id;
        if (i > 0 && (id.layer != stages[i - 1].id.layer || id.stack != stages[i - 1].id.stack)) {
            draw_group_label(context, {x, origin.y}, height, id);
            x += context.px(kGroupGap);
        }
        const float end = x + width;
        const bool visible = end > left && x < right;
        if (visible && draw_item(context, {x, origin.y}, {width, height}, i)) {
            context.view.stage = id;
            context.view.playing = false;
            if (context.view.view != View::Step && is_attention_map(id.stage)) context.view.heads_stage = to_self(id.stage);
            else context.view.view = View::Step;
        }
        if (id == context.view.stage && context.view.strip_shows != id) {
            context.view.strip_shows = id;
            const float centre = (x + end) / 2 - origin.x - ImGui::GetWindowWidth() / 2;
            ImGui::SetScrollX(std::max(centre, 0.F));
        }
        x = end;
    }
    ImGui::SetCursorScreenPos({x, origin.y});
    ImGui::Dummy({1, 1});
    // The wheel moves a strip sideways.
    if (ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0)
        ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseWheel * width);
}

}  // namespace attn::app
