#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "app/platform/image.hpp"
#include "app/session/files/settings.hpp"
#include "app/widgets/canvas.hpp"
#include "app/widgets/theme.hpp"

namespace attn::app {

/// A rendered picture: pixels or SVG text.
struct TakenPicture {
    Image image;
    std::string svg;
};

/// A request to render the current window into a picture.
struct PictureOrder {
    bool svg = false;
    float scale = 1;                         ///< pixels of the picture per pixel of the window; 1 for SVG
    bool trim = false;                       ///< cut off the empty margins around what is drawn on the pane's colour
    std::function<void(TakenPicture)> take;  ///< called on the UI thread
    std::function<void(std::string)> fail;   ///< called with the reason
};

/// One frame of the UI, between ImGui's NewFrame and Render. Sizes are in framebuffer pixels.
struct Frame {
    const Theme& theme;
    Canvas& canvas;
    Settings& settings;  ///< persistent settings; changes of `dark` and `zoom` take effect in the next frame
    float width = 0, height = 0;
    double time = 0;                         ///< seconds since the start; offscreen, frame number / 60
    std::vector<std::string> dropped_files;  ///< files dropped onto the window since the last frame

    bool close_asked = false;  ///< the window's close button was pressed; set `quit` to close it
    bool for_picture = false;  ///< rendered for a picture, without mouse and keyboard input

    // Set by the UI:
    bool quit = false;
    std::string title{};                    ///< window title; "" keeps the current one
    std::optional<PictureOrder> picture{};  ///< rendered after this frame
    /// Seconds until the next frame if there is no event before; 0 during animations.
    double redraw_after = std::numeric_limits<double>::infinity();
    /// Seconds for which the window may keep showing the previous frame because requested results are expected by then. Drawing would only
    /// take processor time from their computation. Evaluated again after every event.
    double hold = 0;
    std::function<void()> on_screen{};  ///< called once the frame is on screen; empty: never
};

using DrawUi = std::function<void(Frame&)>;

}  // namespace attn::app
