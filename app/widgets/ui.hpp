#pragma once
/// The drawing context of all widgets: theme, canvas and keyboard focus.

#include "app/widgets/canvas.hpp"
#include "app/widgets/theme.hpp"

namespace attn::app {

class KeyboardFocus;

struct Ui {
    const Theme& theme;
    Canvas& canvas;
    KeyboardFocus* focus = nullptr;  ///< where controls register for Tab; null: not reachable by keyboard
    bool without_controls = false;   ///< leave out buttons and other controls, for exported pictures
    float px(float logical) const { return theme.px(logical); }
    const Palette& colors() const { return theme.colors; }
    const Fonts& fonts() const { return theme.fonts; }
};

}  // namespace attn::app
