#pragma once
/// The two dialects of OpenGL that the renderer is written for: 3.3 core on desktops, and WebGL 2 (OpenGL ES 3.0 with parts missing) in a
/// browser.

#ifdef __EMSCRIPTEN__
#include <GLES3/gl3.h>
#else
#include <glad/gl.h>
#endif

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attn::app::gl_dialect {

#ifdef __EMSCRIPTEN__

/// The first lines of every shader, in place of the line that its source begins with.
inline constexpr const char* kShaderHead = "#version 300 es\nprecision highp float;\nprecision highp int;\nprecision highp usampler2D;\n";
inline constexpr const char* kVersion = "#version 300 es";

/// How bytes are uploaded that are sampled as white with that alpha. WebGL has no swizzles: white is uploaded, too.
inline constexpr GLint kCoverageFormat = GL_LUMINANCE_ALPHA;
inline constexpr GLenum kCoverageLayout = GL_LUMINANCE_ALPHA;
inline std::vector<std::uint8_t> coverage_pixels(const std::uint8_t* coverage, std::size_t count) {
    std::vector<std::uint8_t> pixels(2 * count, 255);
    for (std::size_t i = 0; i < count; ++i) pixels[2 * i + 1] = coverage[i];
    return pixels;
}
inline void sample_as_coverage() {}

/// Reads the bound framebuffer as RGB. WebGL reads RGBA only.
inline void read_rgb(int width, int height, std::uint8_t* rgb) {
    const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    std::vector<std::uint8_t> rgba(4 * count);
    glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, rgba.data());
    for (std::size_t i = 0; i < 3 * count; ++i) rgb[i] = rgba[i / 3 * 4 + i % 3];
}

#else

inline constexpr const char* kShaderHead = "#version 330 core\n";
inline constexpr const char* kVersion = "#version 330 core";

inline constexpr GLint kCoverageFormat = GL_R8;
inline constexpr GLenum kCoverageLayout = GL_RED;
inline std::span<const std::uint8_t> coverage_pixels(const std::uint8_t* coverage, std::size_t count) { return {coverage, count}; }
inline void sample_as_coverage() {
    const GLint white_of_coverage[] = {GL_ONE, GL_ONE, GL_ONE, GL_RED};
    glTexParameteriv(GL_TEXTURE_2D, GL_TEXTURE_SWIZZLE_RGBA, white_of_coverage);
}

inline void read_rgb(int width, int height, std::uint8_t* rgb) { glReadPixels(0, 0, width, height, GL_RGB, GL_UNSIGNED_BYTE, rgb); }

#endif

}  // namespace attn::app::gl_dialect
