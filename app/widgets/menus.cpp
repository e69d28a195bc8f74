#include <algorithm>

#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/keyboard_focus.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kMenuWidth = 480, kItemPadding = 10, kItemCheck = 18, kMenuPadding = 6;

/// Opens a popup below the item when it is pressed. True while it is open; the popup has then been begun.
bool begin_popup_under(const Ui& ui, const Item& item) {
    if (item.pressed) ImGui::OpenPopup("menu");
    // Menus of buttons on the right half are right-aligned, and their height is limited to the space below.
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const bool at_right = item.min.x > display.x / 2;
    ImGui::SetNextWindowPos(ImVec2(at_right ? item.max.x : item.min.x, item.max.y + ui.px(4)), ImGuiCond_Always,
                            ImVec2(at_right ? 1.0f : 0.0f, 0));
    const float room = std::max(ui.px(160), display.y - item.max.y - ui.px(24));
    // As wide as its widest item, beside a scroll bar.
    const float widest = ui.px(kMenuWidth + 2 * kItemPadding + kItemCheck + 2 * kMenuPadding) + ImGui::GetStyle().ScrollbarSize;
    ImGui::SetNextWindowSizeConstraints(ImVec2(item.width(), 0), ImVec2(std::max(widest, ui.px(kMenuWidth) + item.width()), room));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(ui.px(kMenuPadding), ui.px(kMenuPadding)));
    ImGui::PushStyleVar(ImGuiStyleVar_PopupRounding, ui.px(8));
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, ui.px(1)));
    ImGui::PushStyleColor(ImGuiCol_PopupBg, ui.colors().raised);
    ImGui::PushStyleColor(ImGuiCol_Border, ui.colors().line);
    const bool open = ImGui::BeginPopup("menu", ImGuiWindowFlags_NoMove);
    ImGui::PopStyleColor(2);
    if (!open) ImGui::PopStyleVar(3);
    return open;
}

}  // namespace

bool begin_menu_button(const Ui& ui, const char* id, std::string_view shown, float width, const ControlNotes& notes) {
    if (ui.without_controls) return false;
    const Palette& c = ui.colors();
    ImFont* font = ui.fonts().label;
    const float arrow = ui.px(20);
    const float button_width = resolve_width(ui, width, text_width(font, shown) + arrow + 2 * ui.px(12));
    ImGui::PushID(id);
    const Item item = begin_item(ui, "button", ImVec2(button_width, ui.px(30)), notes);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color fill = item.held ? c.line : item.hovered ? mix(c.raised, c.text, 0.08f) : c.raised;
    list.AddRectFilled(item.min, item.max, fill, ui.px(6));
    list.AddRect(item.min, item.max, c.line, ui.px(6), 0, ui.px(1));
    const Color ink = item.disabled ? c.faint : c.text;
    const ImVec2 text_min(item.min.x + ui.px(12), item.min.y), text_max(item.max.x - arrow, item.max.y);
    draw_text_in(list, font, text_min, text_max, ImVec2(0, 0.5f), ink, elide(font, shown, text_max.x - text_min.x));
    draw_icon(list, Icon::Down, ImVec2(item.max.x - arrow * 0.65f, (item.min.y + item.max.y) / 2), ui.px(8),
              item.disabled ? c.faint : c.muted);
    draw_focus_ring(ui, item, ui.px(6));
    error_line(ui, notes);
    const bool open = begin_popup_under(ui, item);
    if (!open) ImGui::PopID();
    return open;
}

bool begin_menu_link(const Ui& ui, const char* id, std::string_view shown, const ControlNotes& notes) {
    if (ui.without_controls) return false;
    const Palette& c = ui.colors();
    ImFont* font = ui.fonts().label;
    const float width = text_width(font, shown);
    ImGui::PushID(id);
    const Item item = begin_item(ui, "link", ImVec2(width + ui.px(16), font_size(font) + ui.px(4)), notes);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color ink = item.disabled ? c.faint : item.hovered ? mix(c.accent, c.text, 0.3f) : c.accent;
    draw_text_in(list, font, item.min, item.max, ImVec2(0, 0.5f), ink, shown);
    draw_icon(list, Icon::Down, ImVec2(item.min.x + width + ui.px(9), (item.min.y + item.max.y) / 2 + ui.px(1)), ui.px(7), ink);
    draw_focus_ring(ui, item, ui.px(3));
    const bool open = begin_popup_under(ui, item);
    if (!open) ImGui::PopID();
    return open;
}

bool begin_menu_tab(const Ui& ui, const char* id, std::string_view shown, bool active, float height, const ControlNotes& notes) {
    if (ui.without_controls) return false;
    const Palette& c = ui.colors();
    const float arrow = ui.px(14), padding = ui.px(17);
    ImGui::PushID(id);
    const Item item = begin_item(ui, "tab", ImVec2(text_width(ui.fonts().strong, shown) + arrow + 2 * padding, ui.px(height)), notes);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color ink = active || item.hovered ? c.text : c.muted;
    draw_text_in(list, active ? ui.fonts().strong : ui.fonts().body, ImVec2(item.min.x + padding, item.min.y), item.max, ImVec2(0, 0.5f),
                 ink, shown);
    draw_icon(list, Icon::Down, ImVec2(item.max.x - padding - ui.px(3), (item.min.y + item.max.y) / 2 + ui.px(1)), ui.px(8), ink);
    if (active)
        list.AddRectFilled(ImVec2(item.min.x + padding - ui.px(5), item.max.y - ui.px(3)),
                           ImVec2(item.max.x - padding + ui.px(5), item.max.y), c.accent, ui.px(1.5f));
    draw_focus_ring(ui, item, ui.px(4));
    const bool open = begin_popup_under(ui, item);
    if (!open) ImGui::PopID();
    return open;
}

bool begin_menu_icon(const Ui& ui, const char* id, Icon icon, std::string_view text, float width, const ControlNotes& notes) {
    if (ui.without_controls) return false;
    const Palette& c = ui.colors();
    ImGui::PushID(id);
    const Item item = begin_item(ui, "button", ImVec2(ui.px(width), ui.px(30)), notes);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (item.hovered || item.held) list.AddRectFilled(item.min, item.max, item.held ? c.line : c.raised, ui.px(6));
    const Color ink = item.hovered ? c.text : c.muted;
    if (text.empty()) draw_icon(list, icon, ImVec2((item.min.x + item.max.x) / 2, (item.min.y + item.max.y) / 2), ui.px(13), ink);
    else draw_text_in(list, ui.fonts().body, item.min, item.max, ImVec2(0.5f, 0.5f), ink, text);
    draw_focus_ring(ui, item, ui.px(6));
    const bool open = begin_popup_under(ui, item);
    if (!open) ImGui::PopID();
    return open;
}

void end_menu_button() {
    ImGui::EndPopup();
    ImGui::PopStyleVar(3);
    ImGui::PopID();
}

bool menu_item(const Ui& ui, std::string_view name, bool checked, std::string_view detail, std::string_view shortcut, bool keep_open) {
    const Palette& c = ui.colors();
    ImFont* font = ui.fonts().label;
    const float pad = ui.px(kItemPadding), check = ui.px(kItemCheck);
    const float key = shortcut.empty() ? 0 : text_width(ui.fonts().mono_small, shortcut) + ui.px(24);
    const float wanted =
        std::max(text_width(font, name) + key, std::min(text_width(ui.fonts().caption, detail), ui.px(kMenuWidth))) + 2 * pad + check;
    const float width = std::max(wanted, ImGui::GetContentRegionAvail().x);
    const float inner = width - 2 * pad - check;
    const float line = ui.px(28);
    const float below = detail.empty() ? 0 : wrapped_height(ui.fonts().caption, inner, detail) + ui.px(6);
    ImGui::PushID(name.data(), name.data() + name.size());
    const Item item = begin_item(ui, "item", ImVec2(width, line + below), {.explains_itself = true, .words = name, .ticked = checked});
    const ImVec2 moved = ImGui::GetIO().MouseDelta;
    if (ui.focus != nullptr && item.hovered && (moved.x != 0 || moved.y != 0)) ui.focus->point_at(ImGui::GetItemID());
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool by_focus = ui.focus != nullptr && ui.focus->in_menu() && ui.focus->visible();
    if (by_focus ? item.ringed : item.hovered) list.AddRectFilled(item.min, item.max, mix(c.raised, c.text, 0.10f), ui.px(5));
    if (checked) draw_icon(list, Icon::Check, ImVec2(item.min.x + pad + ui.px(4), item.min.y + line / 2), ui.px(10), c.accent);
    const float left = item.min.x + pad + check;
    draw_text_in(list, font, ImVec2(left, item.min.y), ImVec2(item.max.x, item.min.y + line), ImVec2(0, 0.5f), checked ? c.accent : c.text,
                 name);
    draw_text_in(list, ui.fonts().mono_small, item.min, ImVec2(item.max.x - pad, item.min.y + line), ImVec2(1, 0.5f), c.faint, shortcut);
    draw_text_wrapped(list, ui.fonts().caption, ImVec2(left, item.min.y + line - ui.px(4)), inner, c.muted, detail);
    if (item.pressed && !keep_open) ImGui::CloseCurrentPopup();
    return item.pressed;
}

bool drop_down(const Ui& ui, const char* id, std::span<const std::string_view> names, int& chosen, float width, const ControlNotes& notes) {
    const bool known = chosen >= 0 && chosen < static_cast<int>(names.size());
    if (!begin_menu_button(ui, id, known ? names[static_cast<std::size_t>(chosen)] : std::string_view("\u2014"), width, notes))
        return false;
    bool changed = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
        ImGui::PushID(static_cast<int>(i));
        if (menu_item(ui, names[i], chosen == static_cast<int>(i)) && chosen != static_cast<int>(i)) {
            chosen = static_cast<int>(i);
            changed = true;
        }
        ImGui::PopID();
    }
    end_menu_button();
    return changed;
}

}  // namespace attn::app
