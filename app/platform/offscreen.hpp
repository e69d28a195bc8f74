#pragma once

#include <filesystem>
#include <string>

#include "app/platform/frame.hpp"
#include "app/platform/png_file.hpp"

namespace attn::app {

struct OffscreenOptions {
    int width = 1600, height = 1000;  ///< pixels, at most kMaxImageSide and 64 million in all
    float scale = 1;                  ///< display scale
    bool dark = true;
    int frames = 3;  ///< drawn before the picture is taken, so that layouts settle
    std::filesystem::path shader_folder;
};

/// Draws `ui` without a visible window and without mouse and keys. The same drawing gives the same pixels.
/// Throws PlatformError for a size that is out of bounds, without a display or OpenGL 3.3, and whatever `ui` throws.
Image render_offscreen(const OffscreenOptions& options, const DrawUi& ui);
/// The same as the text of an SVG file: shapes and text instead of pixels.
std::string render_svg(const OffscreenOptions& options, const DrawUi& ui);

}  // namespace attn::app
