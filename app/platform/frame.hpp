#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "app/session/settings.hpp"
#include "app/widgets/canvas.hpp"
#include "app/widgets/theme.hpp"

namespace attn::app {

/// One pass of drawing the UI, between ImGui's NewFrame and Render. Sizes are pixels of the framebuffer.
struct Frame {
    const Theme& theme;
    Canvas& canvas;
    Settings& settings;  ///< what is remembered; a changed `dark` or `zoom` shows from the next frame on
    float width = 0, height = 0;
    double time = 0;                         ///< seconds since the start; offscreen the frame's number / 60
    std::vector<std::string> dropped_files;  ///< dragged onto the window since the last frame

    // What the drawing asks for.
    bool quit = false;
    /// Draw again at the latest after so many seconds although nothing happens; 0 while something moves.
    double redraw_after = std::numeric_limits<double>::infinity();
};

using DrawUi = std::function<void(Frame&)>;

}  // namespace attn::app
