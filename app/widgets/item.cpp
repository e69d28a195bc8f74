#include "app/widgets/item.hpp"

#include <algorithm>

#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/keyboard_focus.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kFocusTooltipWidth = 280;

/// The tooltip of a control focused by keyboard, shown below it.
void tooltip_below(const Ui& ui, const Item& item, std::string_view text) {
    if (text.empty()) return;
    ImGui::SetNextWindowPos(ImVec2(item.min.x, item.max.y + ui.px(6)));
    begin_tooltip_of_focus(ui);
    const float width = std::min(text_width(ui.fonts().label, text), ui.px(kFocusTooltipWidth));
    paragraph(ui, ui.fonts().label, ui.colors().text, text, (width + 1) / ui.theme.scale);
    end_tooltip_of_focus();
}

/// Scrolls the window so that the last item can be seen, unless it is seen whole.
void scroll_into_view() {
    const float top = ImGui::GetWindowPos().y, bottom = top + ImGui::GetWindowHeight();
    const bool whole = ImGui::GetItemRectMin().y >= top && ImGui::GetItemRectMax().y <= bottom;
    if (whole && ImGui::IsItemVisible()) return;
    ImGui::SetScrollHereY(0.5F);
    if (ImGui::GetScrollMaxX() > 0) ImGui::SetScrollHereX(0.5F);
}

}  // namespace

bool join_keyboard(const Ui& ui, const char* label, const ControlNotes& notes, Item& item) {
    if (ui.focus == nullptr) return false;
    const ImGuiID id = ImGui::GetItemID();
    const bool explained = !notes.tooltip.empty() || item.disabled || notes.explains_itself;
    ui.focus->note({id, label, ImGui::GetCurrentWindow()->Name, explained, notes.keyboard && !item.disabled, in_popup(),
                    current_pane()->Pos, std::string(notes.words.empty() ? shown_label(label) : notes.words), item.min.y, item.max.y,
                    notes.ticked, item.min.x, item.max.x});
    if (ui.focus->reveals(id)) scroll_into_view();
    if (!ui.focus->on(id)) return false;
    item.ringed = true;
    item.focused |= !ImGui::GetIO().WantTextInput;  // while text is typed, keys belong to the text field
    return ui.focus->pressed() && !item.disabled;
}

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
    item.by_key = join_keyboard(ui, id, notes, item);
    item.pressed |= item.by_key;
    // While a control is dragged, its tooltip would cover what is changing.
    if (!item.held) tooltip_for_last(ui, item.disabled ? notes.disabled : notes.tooltip);
    const bool behind_menu = any_popup_open() && !in_popup();
    if (item.ringed && ui.focus->speaks() && !behind_menu && !behind_sheet()) tooltip_below(ui, item, notes.tooltip);
    return item;
}

Item item_at(const Ui& ui, const char* id, ImVec2 min, ImVec2 size, const ControlNotes& notes) {
    const ImVec2 cursor = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos(min);
    const Item item = begin_item(ui, id, size, notes);
    ImGui::SetCursorScreenPos(cursor);
    return item;
}

bool pointing_area(const char* id, ImVec2 size) {
    return ImGui::InvisibleButton(id, ImVec2(std::max(size.x, 1.0f), std::max(size.y, 1.0f)));
}

void draw_focus_ring(const Ui& ui, const Item& item, float rounding) {
    if (!item.ringed) return;
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
