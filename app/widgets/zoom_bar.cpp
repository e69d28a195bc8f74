#include "app/widgets/zoom_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

// In logical pixels:
constexpr float kBarHeight = 22, kStepWidth = 22, kLevelWidth = 46, kFitWidth = 30;
/// Wheel steps per button press.
constexpr float kTurnsOfAPress = 2;

float zoom_of(const HeatmapViewState& state) { return std::max({state.rows.zoom, state.cols.zoom, 1.0F}); }

/// One part of the bar. True if pressed.
bool part(const Ui& ui, const char* id, ImVec2 at, float logical_width, std::string_view text, std::string_view tooltip, bool usable) {
    const Item item =
        item_at(ui, id, at, {ui.px(logical_width), ui.px(kBarHeight)}, {.tooltip = tooltip, .disabled = usable ? "" : tooltip});
    const Palette& c = ui.colors();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (item.hovered && usable) list.AddRectFilled(item.min, item.max, mix(c.raised, c.text, 0.10F), ui.px(5));
    draw_text_in(list, ui.fonts().label, item.min, item.max, {0.5F, 0.5F}, item.disabled ? c.faint : item.hovered ? c.text : c.muted, text);
    draw_focus_ring(ui, item, ui.px(5));
    return item.pressed;
}

}  // namespace

ImVec2 zoom_bar_size(const Ui& ui) { return {ui.px(2 * kStepWidth + kLevelWidth + kFitWidth), ui.px(kBarHeight)}; }

std::string zoom_words(const HeatmapViewState& state) {
    const float zoom = zoom_of(state);
    return zoom < 1.005F ? std::string("100 %") : zoom < 10 ? fmt::format("{:.0f} %", 100 * zoom) : fmt::format("{:.0f} ×", zoom);
}

bool zoom_bar(const Ui& ui, const char* id, ImVec2 at, HeatmapViewState& state, std::int64_t rows, std::int64_t cols) {
    if (ui.without_controls) return false;
    const HeatmapViewState before = state;
    const ImVec2 size = zoom_bar_size(ui), middle{0.5F, 0.5F};
    const ImVec2 end{at.x + size.x, at.y + size.y};
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, end, ui.colors().raised, ui.px(6));
    list.AddRect(at, end, ui.colors().line, ui.px(6));
    const bool zoomed = !state.whole();
    ImGui::PushID(id);
    if (part(ui, "##out", at, kStepWidth, "−", "Zoom out (−). The wheel zooms about the pointer, dragging moves the map.", zoomed))
        zoom_heatmap(state, rows, cols, -kTurnsOfAPress, middle);
    at.x += ui.px(kStepWidth);
    draw_text_in(list, ui.fonts().mono_small, at, {at.x + ui.px(kLevelWidth), end.y}, middle, ui.colors().text, zoom_words(state));
    at.x += ui.px(kLevelWidth);
    if (part(ui, "##in", at, kStepWidth, "+", "Zoom in (+). The wheel zooms about the pointer, dragging moves the map.", true))
        zoom_heatmap(state, rows, cols, kTurnsOfAPress, middle);
    at.x += ui.px(kStepWidth);
    if (part(ui, "##fit", at, kFitWidth, "Fit", "Show the whole map (F; or double-click beside its cells)", zoomed)) state = {};
    ImGui::PopID();
    return !(state == before);
}

}  // namespace attn::app
