#include <algorithm>
#include <numeric>

#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kTabPadding = 13, kTabMenuWidth = 74, kMenuHeight = 30;

/// Measured in the selected (bold) state, so that selecting another tab moves nothing.
float tab_width(const Ui& ui, std::string_view name) { return text_width(ui.fonts().strong, name) + 2 * ui.px(kTabPadding); }

/// A single tab at the cursor. True if pressed.
bool tab(const Ui& ui, std::string_view name, bool active, float height, std::string_view tooltip) {
    const Palette& c = ui.colors();
    const Item item = begin_item(ui, "tab", ImVec2(tab_width(ui, name), ui.px(height)), {.tooltip = tooltip});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text_in(list, active ? ui.fonts().strong : ui.fonts().body, item.min, item.max, ImVec2(0.5f, 0.5f),
                 active || item.hovered ? c.text : c.muted, name);
    if (active) {
        list.AddRectFilled(ImVec2(item.min.x + ui.px(8), item.max.y - ui.px(3)), ImVec2(item.max.x - ui.px(8), item.max.y), c.accent,
                           ui.px(1.5f));
    }
    draw_focus_ring(ui, item, ui.px(4));
    return item.pressed;
}

/// The menu of the tabs that are not in the bar; returns the index chosen there, otherwise `chosen`.
std::size_t menu_of_others(const Ui& ui, std::span<const std::string_view> names, const std::vector<std::size_t>& shown,
                           std::span<const std::string_view> tooltips, std::size_t chosen) {
    if (!begin_menu_button(ui, "more", "More", kTabMenuWidth, {.tooltip = "More views; the window is too narrow for them."})) return chosen;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (std::find(shown.begin(), shown.end(), i) != shown.end()) continue;
        if (menu_item(ui, names[i], false, i < tooltips.size() ? tooltips[i] : std::string_view())) chosen = i;
    }
    end_menu_button();
    return chosen;
}

}  // namespace

std::vector<std::size_t> tabs_that_fit(std::span<const float> widths, std::size_t chosen, float menu, float room, std::size_t kept) {
    std::vector<std::size_t> shown(widths.size());
    std::iota(shown.begin(), shown.end(), std::size_t{0});
    if (std::accumulate(widths.begin(), widths.end(), 0.0f) <= room) return shown;
    shown.clear();
    const bool some_chosen = chosen < widths.size();
    float used = menu + (some_chosen ? widths[chosen] : 0);
    const bool keeps = kept < widths.size() && kept != chosen && used + widths[kept] <= room;
    if (keeps) used += widths[kept];
    for (std::size_t i = 0; i < widths.size(); ++i) {
        if (i == chosen || (keeps && i == kept)) continue;
        used += widths[i];
        if (used > room) break;
        shown.push_back(i);
    }
    if (keeps) shown.insert(std::upper_bound(shown.begin(), shown.end(), kept), kept);
    if (some_chosen) shown.insert(std::upper_bound(shown.begin(), shown.end(), chosen), chosen);
    return shown;
}

bool tabs(const Ui& ui, const char* id, std::span<const std::string_view> names, int& chosen, float height,
          std::span<const std::string_view> tooltips, float room, std::size_t kept) {
    std::vector<float> widths;
    for (const std::string_view name : names) widths.push_back(tab_width(ui, name));
    const auto before = static_cast<std::size_t>(chosen);
    std::size_t now = before;
    const std::vector<std::size_t> shown = tabs_that_fit(widths, before, ui.px(kTabMenuWidth + kTabPadding), room, kept);
    ImGui::PushID(id);
    for (const std::size_t i : shown) {
        if (i != shown.front()) ImGui::SameLine(0, 0);
        ImGui::PushID(static_cast<int>(i));
        if (tab(ui, names[i], i == before, height, i < tooltips.size() ? tooltips[i] : std::string_view())) now = i;
        ImGui::PopID();
    }
    if (shown.size() < names.size()) {
        ImGui::SameLine(0, ui.px(kTabPadding));
        ImGui::SetCursorPosY(ImGui::GetCursorPosY() + ui.px((height - kMenuHeight) / 2));
        now = menu_of_others(ui, names, shown, tooltips, now);
    }
    ImGui::PopID();
    chosen = static_cast<int>(now);
    return now != before;
}

float least_tabs_width(const Ui& ui, std::span<const std::string_view> names, int chosen) {
    return tab_width(ui, names[static_cast<std::size_t>(chosen)]) + ui.px(kTabPadding + kTabMenuWidth);
}

float tabs_width(const Ui& ui, std::span<const std::string_view> names) {
    float width = 0;
    for (const std::string_view name : names) width += tab_width(ui, name);
    return width;
}

}  // namespace attn::app
