#pragma once
/// Owners of OpenGL objects: move-only, released with the context that made them still current.

#include <glad/gl.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "app/render/gl_error.hpp"

namespace attn::app {

/// Owns one GL name; `Release` deletes it.
template <void (*Release)(GLuint)>
class GlHandle {
public:
    GlHandle() = default;
    explicit GlHandle(GLuint name) : name_(name) {}
    GlHandle(GlHandle&& other) noexcept : name_(std::exchange(other.name_, 0)) {}
    GlHandle& operator=(GlHandle&& other) noexcept {
        std::swap(name_, other.name_);
        return *this;
    }
    ~GlHandle() {
        if (name_ != 0) Release(name_);
    }
    GLuint get() const { return name_; }

private:
    GLuint name_ = 0;
};

namespace detail {
// glad's entry points are variables filled in at run time, so each needs a function of its own.
inline void release_texture(GLuint name) { glDeleteTextures(1, &name); }
inline void release_program(GLuint name) { glDeleteProgram(name); }
inline void release_shader(GLuint name) { glDeleteShader(name); }
inline void release_vertex_array(GLuint name) { glDeleteVertexArrays(1, &name); }
inline void release_framebuffer(GLuint name) { glDeleteFramebuffers(1, &name); }
}  // namespace detail

using TextureHandle = GlHandle<detail::release_texture>;
using ProgramHandle = GlHandle<detail::release_program>;
using ShaderHandle = GlHandle<detail::release_shader>;
using VertexArrayHandle = GlHandle<detail::release_vertex_array>;
using FramebufferHandle = GlHandle<detail::release_framebuffer>;

VertexArrayHandle make_vertex_array();

/// [height, width] codes (cell_code.hpp), read with texelFetch. Throws GlError if the driver has no memory for it.
TextureHandle make_code_texture(std::span<const std::uint32_t> codes, int width, int height);
/// [height, width] bytes, sampled as white that covers so much. Throws GlError if it is larger than the driver can do.
TextureHandle make_coverage_texture(const std::uint8_t* coverage, int width, int height);
/// A row of 0xAABBGGRR colours, read with texelFetch.
TextureHandle make_color_texture(std::span<const std::uint32_t> colors);

/// An RGBA8 image to draw into.
class Framebuffer {
public:
    /// Throws GlError if the size is beyond what the driver can do.
    Framebuffer(int width, int height);
    int width() const { return width_; }
    int height() const { return height_; }
    /// Makes it the target of drawing, with the viewport over all of it.
    void bind() const;

private:
    int width_, height_;
    TextureHandle color_;
    FramebufferHandle name_;
};

/// The pixels of the bound framebuffer as RGB bytes [height, width, 3], top row first.
std::vector<std::uint8_t> read_pixels(int width, int height);

/// Throws GlError naming `what` if OpenGL has recorded an error.
void check_gl(const char* what);

}  // namespace attn::app
