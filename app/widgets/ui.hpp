#pragma once
/// What every widget needs: how things look and who draws the maps.

#include "app/widgets/canvas.hpp"
#include "app/widgets/theme.hpp"

namespace attn::app {

class KeyboardFocus;

struct Ui {
    const Theme& theme;
    Canvas& canvas;
    KeyboardFocus* focus = nullptr;  ///< where controls note themselves; null: they cannot be reached by Tab
    bool without_controls = false;   ///< a picture that is kept: buttons and the like are left out
    float px(float logical) const { return theme.px(logical); }
    const Palette& colors() const { return theme.colors; }
    const Fonts& fonts() const { return theme.fonts; }
};

}  // namespace attn::app
