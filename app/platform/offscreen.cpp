#include "app/platform/offscreen.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/platform/gl_window.hpp"
#include "app/platform/platform_error.hpp"
#include "app/platform/screen.hpp"
#include "app/render/gl_objects.hpp"

namespace attn::app {

namespace {
constexpr double kFrameSeconds = 1.0 / 60;
}  // namespace

namespace {

/// Draws frames until layouts have settled, then calls `take` with the screen.
template <class Take>
void with_picture(const OffscreenOptions& options, const DrawUi& ui, const Take& take) {
    const int width = options.width, height = options.height;
    if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide || std::int64_t{width} * height > kMaxImagePixels)
        throw PlatformError("a picture of " + std::to_string(width) + " x " + std::to_string(height) +
                            " pixels cannot be drawn: each side is 1 to " + std::to_string(kMaxImageSide) + ", 64 million in all");
    if (!(std::isfinite(options.scale) && options.scale > 0)) throw PlatformError("the scale of a picture must be a positive number");
    WindowPlacement placement;
    placement.width = placement.height = 1;
    const GlWindow window("attnscope", placement, false);
    const Framebuffer target(width, height);
    Screen screen(nullptr, options.shader_folder);
    Settings settings;
    settings.dark = options.dark;
    target.bind();
    Screen::Target size{width, height, options.scale, 0, kFrameSeconds};
    for (int frame = 0; frame < std::max(options.frames, 1); ++frame) {
        size.time = frame * kFrameSeconds;
        screen.draw(ui, settings, size, {});
    }
    check_gl("drawing a picture");
    take(screen, settings, size);
}

}  // namespace

Image render_offscreen(const OffscreenOptions& options, const DrawUi& ui) {
    Image image;
    with_picture(options, ui, [&](Screen&, const Settings&, const Screen::Target& size) {
        image = {size.width, size.height, read_pixels(size.width, size.height)};
    });
    return image;
}

std::string render_svg(const OffscreenOptions& options, const DrawUi& ui) {
    std::string svg;
    with_picture(options, ui, [&](Screen& screen, const Settings& settings, const Screen::Target& size) {
        svg = screen.take_picture(ui, settings, size, {.svg = true, .scale = 1, .trim = false, .take = {}, .fail = {}}).svg;
    });
    return svg;
}

}  // namespace attn::app
