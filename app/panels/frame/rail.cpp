#include "app/panels/frame/rail.hpp"

#include <fmt/format.h>

#include <string>

#include "app/panels/frame/frame_layout.hpp"
#include "app/panels/kit/section.hpp"
#include "app/panels/settings/settings.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
void draw_settings_rail(PanelContext& context) {
    const Palette& colors = context.theme.colors;
    const Fonts& fonts = context.theme.fonts;
    PaneState& panes = context.view.panes;
    const float width = ImGui::GetContentRegionAvail().x, height = context.px(34);
    const auto item = [&](const char* id, const char* text, Icon icon, std::string_view tooltip) {
        const Item found = begin_item(context.ui(), id, {width, height}, {.tooltip = tooltip});
        ImDrawList& list = *ImGui::GetWindowDrawList();
        if (found.hovered) list.AddRectFilled(found.min, found.max, colors.raised, context.px(6));
        const Color ink = found.hovered ? colors.text : colors.muted;
        draw_text_in(list, fonts.strong, found.min, found.max, {0.5F, 0.5F}, ink, text);
        draw_icon(list, icon, {(found.min.x + found.max.x) / 2, (found.min.y + found.max.y) / 2}, context.px(11), ink);
        draw_focus_ring(context.ui(), found, context.px(6));
        return found.pressed;
    };
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, context.px(2)});
    if (item("##all", "", panes.left_open ? Icon::Previous : Icon::Next,
             panes.left_open ? "Close the settings (1)" : "Open the settings (1)"))
        panes.left_open = !panes.left_open;
    const float bottom = ImGui::GetWindowPos().y + ImGui::GetWindowHeight();
    for (const ListedSection& section : listed_sections(context)) {
        if (context.view.view == View::Train) break;
        if (ImGui::GetCursorScreenPos().y + height > bottom) break;
        const std::string initials(section.title.substr(0, 2)), id = fmt::format("##{}", section.name);
        if (!item(id.c_str(), initials.c_str(), Icon::None, fmt::format("Settings: {}", section.title))) continue;
        open_settings_section(context.view, section.name);
    }
    ImGui::PopStyleVar();
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
