#pragma once
/// Makes sure a window opens where it can be seen. In screen units.

#include <span>

namespace attn::app {

struct WindowPlacement {
    int width = 1600, height = 1000;
    int x = 0, y = 0;
    bool placed = false;  ///< x and y are valid
    bool maximized = false;
};

/// The usable area of a monitor.
struct WorkArea {
    int x = 0, y = 0, width = 0, height = 0;
};

/// Adjusts a stored placement to the monitors, the first of which is the primary one. Drops the position if hardly any of the window would
/// be visible or it is larger than all monitors together; a window without a position is limited to the primary monitor's size.
WindowPlacement visible_placement(WindowPlacement placement, std::span<const WorkArea> monitors);

}  // namespace attn::app
