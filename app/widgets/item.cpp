#include "app/widgets/item.hpp"

#include <algorithm>

#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {

Item begin_item(const Ui& ui, const char* id, ImVec2 size, const ControlNotes& notes) {
    Item item;
    item.disabled = !notes.disabled.empty();
    if (item.disabled) ImGui::BeginDisabled();
    item.pressed = ImGui::InvisibleButton(id, ImVec2(std::max(size.x, 1.0f), std::max(size.y, 1.0f)));
    if (item.disabled) ImGui::EndDisabled();
    item.min = ImGui::GetItemRectMin();
    item.max = ImGui::GetItemRectMax();
    item.hovered = ImGui::IsItemHovered();
    item.held = ImGui::IsItemActive();
    item.focused = ImGui::IsItemFocused();
    // While a control is dragged its tooltip would cover what changes.
    if (!item.held) tooltip_for_last(ui, item.disabled ? notes.disabled : notes.tooltip);
    return item;
}

Item item_at(const Ui& ui, const char* id, ImVec2 min, ImVec2 size, const ControlNotes& notes) {
    const ImVec2 cursor = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos(min);
    const Item item = begin_item(ui, id, size, notes);
    ImGui::SetCursorScreenPos(cursor);
    return item;
}

void draw_focus_ring(const Ui& ui, const Item& item, float rounding) {
    if (!item.focused || !ImGui::GetIO().NavVisible) return;
    const float out = ui.px(2);
    ImGui::GetWindowDrawList()->AddRect(ImVec2(item.min.x - out, item.min.y - out), ImVec2(item.max.x + out, item.max.y + out),
                                        ui.colors().accent, rounding + out, 0, ui.px(1.5f));
}

void error_line(const Ui& ui, const ControlNotes& notes) {
    if (notes.error.empty()) return;
    paragraph(ui, ui.fonts().label, ui.colors().bad, notes.error);
}

std::string_view shown_label(const char* label) {
    const std::string_view all(label);
    return all.substr(0, std::min(all.find("##"), all.size()));
}

float resolve_width(const Ui& ui, float width, float natural) {
    if (width > 0) return ui.px(width);
    return width < 0 ? ImGui::GetContentRegionAvail().x : natural;
}

}  // namespace attn::app
