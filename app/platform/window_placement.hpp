#pragma once
/// Where a window stands, and where it has to stand to be seen. Screen units.

#include <span>

namespace attn::app {

struct WindowPlacement {
    int width = 1600, height = 1000;
    int x = 0, y = 0;
    bool placed = false;  ///< x and y say something
    bool maximized = false;
};

/// What windows may cover of a monitor.
struct WorkArea {
    int x = 0, y = 0, width = 0, height = 0;
};

/// The placement where it can be seen; the first monitor is the main one. A place that hardly any monitor shows, or of a window larger than
/// all of them together, is forgotten, and a window without a place is no larger than the main monitor.
WindowPlacement visible_placement(WindowPlacement placement, std::span<const WorkArea> monitors);

}  // namespace attn::app
