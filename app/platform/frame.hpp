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

/// What a picture of the window has become: pixels or a text.
struct TakenPicture {
    Image image;
    std::string svg;
};

/// The window as it is, drawn once more into a picture.
struct PictureOrder {
    bool svg = false;
    float scale = 1;                         ///< pixels of the picture for every pixel of the window; 1 for SVG
    std::function<void(TakenPicture)> take;  ///< called on the UI thread
    std::function<void(std::string)> fail;   ///< with the reason
};

/// One pass of drawing the UI, between ImGui's NewFrame and Render. Sizes are pixels of the framebuffer.
struct Frame {
    const Theme& theme;
    Canvas& canvas;
    Settings& settings;  ///< what is remembered; a changed `dark` or `zoom` shows from the next frame on
    float width = 0, height = 0;
    double time = 0;                         ///< seconds since the start; offscreen the frame's number / 60
    std::vector<std::string> dropped_files;  ///< dragged onto the window since the last frame

    bool close_asked = false;  ///< the window's close button was pressed; `quit` closes it
    bool for_picture = false;  ///< part of an order's picture: nothing is pointed at or typed

    // What the drawing asks for.
    bool quit = false;
    std::string title{};                    ///< of the window; "" leaves it
    std::u32string letters{};               ///< of the texts on screen, sorted; the system's fonts give what ours lack
    std::optional<PictureOrder> picture{};  ///< carried out after this frame
    /// Draw again at the latest after so many seconds although nothing happens; 0 while something moves.
    double redraw_after = std::numeric_limits<double>::infinity();
    /// Seconds for which a window may keep showing what it shows, because what was asked for is expected by then: drawing would take the
    /// processors from it. It is asked again after each event.
    double hold = 0;
};

using DrawUi = std::function<void(Frame&)>;

}  // namespace attn::app
