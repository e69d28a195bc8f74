#include "app/platform/window_placement.hpp"

#include <algorithm>

namespace attn::app {
namespace {

constexpr int kLargestWindow = 16384;
/// A window with less than this visible (in screen units) is placed anew.
constexpr int kEnoughToGrab = 100;

bool shows(const WorkArea& area, const WindowPlacement& window) {
    const int width = std::min(window.x + window.width, area.x + area.width) - std::max(window.x, area.x);
    const int height = std::min(window.y + window.height, area.y + area.height) - std::max(window.y, area.y);
    return std::min(width, height) >= kEnoughToGrab;
}

WorkArea around(std::span<const WorkArea> areas) {
    WorkArea all = areas.front();
    for (const WorkArea& area : areas) {
        const int right = std::max(all.x + all.width, area.x + area.width), bottom = std::max(all.y + all.height, area.y + area.height);
        all.x = std::min(all.x, area.x);
        all.y = std::min(all.y, area.y);
        all.width = right - all.x;
        all.height = bottom - all.y;
    }
    return all;
}

}  // namespace

WindowPlacement visible_placement(WindowPlacement window, std::span<const WorkArea> monitors) {
    window.width = std::clamp(window.width, 320, kLargestWindow);
    window.height = std::clamp(window.height, 240, kLargestWindow);
    if (monitors.empty()) {
        window.placed = false;
        return window;
    }
    const WorkArea all = around(monitors), &main = monitors.front();
    const bool fits = window.width <= all.width && window.height <= all.height;
    const bool seen = std::any_of(monitors.begin(), monitors.end(), [&](const WorkArea& area) { return shows(area, window); });
    window.placed = window.placed && fits && seen;
    if (!window.placed && main.width > 0 && main.height > 0) {
        window.width = std::min(window.width, main.width);
        window.height = std::min(window.height, main.height);
    }
    return window;
}

}  // namespace attn::app
