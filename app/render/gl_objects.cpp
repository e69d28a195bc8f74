#include "app/render/gl_objects.hpp"

#include <algorithm>
#include <string>

namespace attn::app {

namespace {

const char* error_name(GLenum error) {
    switch (error) {
    case GL_INVALID_ENUM:
        return "invalid enum";
    case GL_INVALID_VALUE:
        return "invalid value";
    case GL_INVALID_OPERATION:
        return "invalid operation";
    case GL_INVALID_FRAMEBUFFER_OPERATION:
        return "invalid framebuffer operation";
    case GL_OUT_OF_MEMORY:
        return "out of memory";
    default:
        return "unknown error";
    }
}

TextureHandle make_texture(GLint format, int width, int height, GLenum layout, GLenum type, const void* pixels) {
    GLint limit = 0;
    glGetIntegerv(GL_MAX_TEXTURE_SIZE, &limit);
    if (width < 1 || height < 1 || width > limit || height > limit)
        throw GlError("a texture of " + std::to_string(width) + " x " + std::to_string(height) + " is beyond the driver's limit of " +
                      std::to_string(limit));
    GLuint name = 0;
    glGenTextures(1, &name);
    TextureHandle texture(name);
    glBindTexture(GL_TEXTURE_2D, name);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
    glTexImage2D(GL_TEXTURE_2D, 0, format, width, height, 0, layout, type, pixels);
    check_gl("texture upload");
    return texture;
}

}  // namespace

void check_gl(const char* what) {
    if (const GLenum error = glGetError(); error != GL_NO_ERROR) {
        while (glGetError() != GL_NO_ERROR) {
        }
        throw GlError(std::string("OpenGL: ") + error_name(error) + " in " + what);
    }
}

VertexArrayHandle make_vertex_array() {
    GLuint name = 0;
    glGenVertexArrays(1, &name);
    return VertexArrayHandle(name);
}

TextureHandle make_code_texture(std::span<const std::uint32_t> codes, int width, int height) {
    if (codes.size() != static_cast<std::size_t>(width) * static_cast<std::size_t>(height))
        throw GlError("a texture of " + std::to_string(width) + " x " + std::to_string(height) + " needs as many codes, not " +
                      std::to_string(codes.size()));
    return make_texture(GL_R32UI, width, height, GL_RED_INTEGER, GL_UNSIGNED_INT, codes.data());
}

TextureHandle make_coverage_texture(const std::uint8_t* coverage, int width, int height) {
    const auto pixels = gl_dialect::coverage_pixels(coverage, static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    TextureHandle texture =
        make_texture(gl_dialect::kCoverageFormat, width, height, gl_dialect::kCoverageLayout, GL_UNSIGNED_BYTE, pixels.data());
    // Linear filtering, because ImGui samples lines between the pixels of this texture.
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    gl_dialect::sample_as_coverage();
    return texture;
}

TextureHandle make_color_texture(std::span<const std::uint32_t> colors) {
    return make_texture(GL_RGBA8, static_cast<int>(colors.size()), 1, GL_RGBA, GL_UNSIGNED_BYTE, colors.data());
}

Framebuffer::Framebuffer(int width, int height) : width_(width), height_(height) {
    color_ = make_texture(GL_RGBA8, width, height, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    GLuint name = 0;
    glGenFramebuffers(1, &name);
    name_ = FramebufferHandle(name);
    glBindFramebuffer(GL_FRAMEBUFFER, name);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, color_.get(), 0);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
        throw GlError("the driver cannot draw into an image of " + std::to_string(width) + " x " + std::to_string(height));
}

void Framebuffer::bind() const {
    glBindFramebuffer(GL_FRAMEBUFFER, name_.get());
    glViewport(0, 0, width_, height_);
}

std::vector<std::uint8_t> read_pixels(int width, int height) {
    const std::size_t row = static_cast<std::size_t>(width) * 3;
    std::vector<std::uint8_t> pixels(row * static_cast<std::size_t>(height));
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glPixelStorei(GL_PACK_ROW_LENGTH, 0);
    gl_dialect::read_rgb(width, height, pixels.data());
    check_gl("reading pixels");
    // OpenGL stores the bottom row first.
    for (std::size_t top = 0, bottom = static_cast<std::size_t>(height); top + 1 < bottom; ++top) {
        --bottom;
        std::swap_ranges(pixels.begin() + static_cast<std::ptrdiff_t>(top * row),
                         pixels.begin() + static_cast<std::ptrdiff_t>((top + 1) * row),
                         pixels.begin() + static_cast<std::ptrdiff_t>(bottom * row));
    }
    return pixels;
}

}  // namespace attn::app
