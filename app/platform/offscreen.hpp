#pragma once

#include <filesystem>
#include <string>

#include "app/platform/frame.hpp"
#include "app/platform/png_file.hpp"

namespace attn::app {

struct OffscreenOptions {
    int width = 1600, height = 1000;  ///< in pixels, at most kMaxImageSide each and kMaxImagePixels in total
    float scale = 1;                  ///< display scale
    bool dark = true;
    int frames = 3;  ///< frames drawn before the picture is taken, so that layouts settle
    std::filesystem::path shader_folder;
};

/// Renders `ui` without a visible window and without input. Deterministic: the same drawing gives the same pixels. Throws PlatformError for
/// an invalid size and without a display or OpenGL 3.3, and whatever `ui` throws.
Image render_offscreen(const OffscreenOptions& options, const DrawUi& ui);
/// The same as SVG text: shapes and text instead of pixels.
std::string render_svg(const OffscreenOptions& options, const DrawUi& ui);

}  // namespace attn::app
