#pragma once
/// A number that is dragged, stepped by keys, or typed.

#include <string_view>

#include "app/widgets/controls.hpp"

namespace attn::app {

struct Edited {
    bool changed = false;   ///< the value differs from the frame before
    bool finished = false;  ///< the drag, key press or typing ended: the moment to close an undo step
    explicit operator bool() const { return changed; }
};

struct SliderOptions {
    double min = 0, max = 1;
    double step = 0;   ///< what arrow keys add, and the grid of values; 0: a hundredth of the range, no grid
    bool log = false;  ///< equal distances are equal ratios; min > 0
    int decimals = 2;
    std::string_view shown{};  ///< written instead of the number, such as "off"
    std::string_view unit{};   ///< written after the number
    ControlNotes notes{};
};

/// Label left, value right, thin track with a round knob. Keys when it has the focus: arrows, Shift with them ten times as far,
/// Page Up/Down, Home, End; Enter, Ctrl-click or double-click to type. Escape gives the keyboard back.
Edited slider_row(const Ui& ui, const char* label, float& value, const SliderOptions& options);
Edited slider_row(const Ui& ui, const char* label, double& value, const SliderOptions& options);
/// Whole numbers; typed numbers are rounded and clamped. `step` defaults to 1.
Edited slider_row(const Ui& ui, const char* label, int& value, const SliderOptions& options);

/// Where on the track (0 to 1) a value sits, and back; the inverse lands on the grid.
double slider_fraction(double value, const SliderOptions& options);
double slider_value(double fraction, const SliderOptions& options);

}  // namespace attn::app
