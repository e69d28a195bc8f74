#include "app/panels/frame/rail.hpp"

#include <utility>

#include "app/panels/kit/emit.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// A mask's letter above a small switch.
void draw_mask_switch(PanelContext& context, const char* id, const char* letter, bool MaskSettings::*mask, std::string_view tooltip) {
    const auto& [colors, fonts, scale] = context.theme;
    ForwardSettings forward = context.document.forward;
    const bool on = forward.masks.*mask;
    const Item item = begin_item(context.ui(), id, {ImGui::GetContentRegionAvail().x, context.px(44)}, {.tooltip = tooltip});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text_in(list, fonts.strong, item.min, {item.max.x, item.min.y + context.px(22)}, {0.5F, 0.5F}, colors.text, letter);
    const ImVec2 middle{(item.min.x + item.max.x) / 2, item.min.y + context.px(31)};
    const float half = context.px(13), radius = context.px(7);
    list.AddRectFilled({middle.x - half, middle.y - radius}, {middle.x + half, middle.y + radius}, on ? colors.accent : colors.line,
                       radius);
    list.AddCircleFilled({on ? middle.x + half - radius : middle.x - half + radius, middle.y}, radius - context.px(2), colors.pane, 16);
    draw_focus_ring(context.ui(), item, context.px(6));
    if (!item.pressed) return;
    forward.masks.*mask = !on;
    emit_forward(context, std::move(forward), "");
}

}  // namespace

void draw_settings_rail(PanelContext& context) {
    const Palette& colors = context.theme.colors;
    PaneState& panes = context.view.panes;
    if (context.view.view != View::Train) {
        draw_mask_switch(context, "##causal", "C", &MaskSettings::causal,
                         "Causal mask: key positions after the query are hidden from it (C).");
        gap(context.ui(), 6);
        draw_mask_switch(context, "##padding", "P", &MaskSettings::padding, "Padding mask: no token attends to padding (P).");
        separator(context.ui(), 17);
    }
    const Item item = begin_item(context.ui(), "##all", {ImGui::GetContentRegionAvail().x, context.px(34)},
                                 {.tooltip = panes.left_open ? "Close the settings (1)" : "All settings (1)"});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (item.hovered) list.AddRectFilled(item.min, item.max, colors.raised, context.px(6));
    draw_icon(list, panes.left_open ? Icon::Previous : Icon::Next, {(item.min.x + item.max.x) / 2, (item.min.y + item.max.y) / 2},
              context.px(11), item.hovered ? colors.text : colors.muted);
    draw_focus_ring(context.ui(), item, context.px(6));
    if (item.pressed) panes.left_open = !panes.left_open;
}

void draw_cell_tab(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    PaneState& panes = context.view.panes;
    const Item item = begin_item(context.ui(), "##open", ImGui::GetContentRegionAvail(),
                                 {.tooltip = panes.right_open ? "Close the chosen cell's arithmetic (2)"
                                                              : "Open the chosen cell's arithmetic over the picture (2)"});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (item.hovered) list.AddRectFilled(item.min, item.max, colors.raised, context.px(10));
    const float middle = (item.min.x + item.max.x) / 2;
    draw_icon(list, panes.right_open ? Icon::Next : Icon::Previous, {middle, item.min.y + context.px(20)}, context.px(11), colors.muted);
    draw_text_turned(list, fonts.label, {middle, (item.min.y + item.max.y) / 2}, item.hovered ? colors.text : colors.muted, "This cell");
    draw_focus_ring(context.ui(), item, context.px(10));
    if (item.pressed) panes.right_open = !panes.right_open;
}

}  // namespace attn::app
