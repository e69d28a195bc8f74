#include "app/panels/settings/dropout_chip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/section.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kDropoutChip = 28, kDropoutEnd = 26, kDropoutPadding = 12;
constexpr std::uint64_t kDropoutSeeds = 100;  // of the slider

double dropout_rate(const PanelContext& context) {
    const DropoutSettings& dropout = context.document.forward.dropout;
    return std::max({dropout.attention, dropout.residual, dropout.embedding});
}

void end_dropout(PanelContext& context) {
    ForwardSettings forward = context.document.forward;
    forward.dropout = {.seed = forward.dropout.seed};
    emit_forward(context, std::move(forward), "");
}

}  // namespace

bool drops(const PanelContext& context) { return dropout_rate(context) > 0; }

void draw_dropout_anew(PanelContext& context) {
    ForwardSettings forward = context.document.forward;
    forward.dropout.seed = (forward.dropout.seed + 1) % kDropoutSeeds;
    emit_forward(context, std::move(forward), "");
}

float draw_dropout_chip(PanelContext& context, float right, float y, float room) {
    if (!drops(context)) return 0;
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const std::string rate = fmt::format("{:.2g}", dropout_rate(context));
    std::string words = "dropout " + rate;
    const float ends = context.px(kDropoutPadding + kDropoutEnd);
    if (ends + text_width(fonts.label, words) > room) words = rate;  // never none
    const float width = ends + text_width(fonts.label, words), height = context.px(kDropoutChip);
    const ImVec2 min{right - width, y}, max{right, y + height};
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(min, max, colors.pane, height / 2);
    list.AddRect(min, max, colors.chosen, height / 2, 0, context.px(1.5F));
    draw_text_in(list, fonts.label, {min.x + context.px(kDropoutPadding), min.y}, max, {0, 0.5F}, colors.text, words);
    const Item item = item_at(ui, "##end_dropout", {max.x - context.px(kDropoutEnd), min.y}, {context.px(kDropoutEnd), height},
                              {.tooltip = "Switches dropout off. U drops other cells."});
    draw_icon(list, Icon::Close, {max.x - context.px(14), y + height / 2}, context.px(9), item.hovered ? colors.text : colors.muted);
    draw_focus_ring(ui, item, height / 2);
    if (item.pressed) end_dropout(context);
    return width;
}

}  // namespace attn::app
