#pragma once
/// A slider whose number can be dragged, stepped with keys, or typed.

#include <string_view>

#include "app/widgets/controls.hpp"

namespace attn::app {

struct Edited {
    bool changed = false;   ///< the value changed in this frame
    bool finished = false;  ///< the drag, key press or typing ended, which ends an undo step
    explicit operator bool() const { return changed; }
};

struct SliderOptions {
    double min = 0, max = 1;
    double step = 0;   ///< increment of the arrow keys and grid of the values; 0: a hundredth of the range and no grid
    bool log = false;  ///< logarithmic; requires min > 0
    int decimals = 2;
    std::string_view shown{};  ///< shown instead of the number, such as "off"
    std::string_view unit{};   ///< shown after the number
    ControlNotes notes{};
};

/// A label, the value at the right, and a thin track with a round knob. Keys when focused: arrows, Shift + arrows for ten steps, Page
/// Up/Down, Home, End; Enter, Ctrl-click or double-click to type. Escape releases the focus.
Edited slider_row(const Ui& ui, const char* label, float& value, const SliderOptions& options);
Edited slider_row(const Ui& ui, const char* label, double& value, const SliderOptions& options);
/// For integers; typed numbers are rounded and clamped. `step` defaults to 1.
Edited slider_row(const Ui& ui, const char* label, int& value, const SliderOptions& options);

/// Converts a value to its position on the track (0 to 1) and back; slider_value() snaps to the grid.
double slider_fraction(double value, const SliderOptions& options);
double slider_value(double fraction, const SliderOptions& options);

}  // namespace attn::app
