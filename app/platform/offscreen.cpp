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
constexpr std::int64_t kMostPixels = 64'000'000;
constexpr double kFrameSeconds = 1.0 / 60;
}  // namespace

Image render_offscreen(const OffscreenOptions& options, const DrawUi& ui) {
    const int width = options.width, height = options.height;
    if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide || std::int64_t{width} * height > kMostPixels)
        throw PlatformError("a picture of " + std::to_string(width) + " x " + std::to_string(height) +
                            " pixels cannot be drawn: each side is 1 to " + std::to_string(kMaxImageSide) + ", 64 million in all");
    if (!(std::isfinite(options.scale) && options.scale > 0)) throw PlatformError("the scale of a picture has to be a positive number");
    WindowPlacement placement;
    placement.width = placement.height = 1;
    const GlWindow window("attnscope", placement, false);
    const Framebuffer target(width, height);
    Screen screen(nullptr, options.shader_folder);
    Settings settings;
    settings.dark = options.dark;
    target.bind();
    for (int frame = 0; frame < std::max(options.frames, 1); ++frame)
        screen.draw(ui, settings, {width, height, options.scale, frame * kFrameSeconds, kFrameSeconds}, {});
    check_gl("drawing a picture");
    return {width, height, read_pixels(width, height)};
}

}  // namespace attn::app
