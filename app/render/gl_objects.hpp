#pragma once
/// RAII wrappers for OpenGL objects. Move-only; must be destroyed while the context that created them is current.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "app/render/gl_dialect.hpp"
#include "app/render/gl_error.hpp"

namespace attn::app {

/// Owns an OpenGL name; `Release` deletes it.
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
// glad's entry points are variables set at run time and cannot be template arguments, hence these functions.
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

/// [height, width] codes (see cell_code.hpp), for texelFetch. Throws GlError if the driver runs out of memory.
TextureHandle make_code_texture(std::span<const std::uint32_t> codes, int width, int height);
/// [height, width] bytes, sampled as white with that alpha. Throws GlError if the size exceeds the driver's limit.
TextureHandle make_coverage_texture(const std::uint8_t* coverage, int width, int height);
/// A single row of 0xAABBGGRR colours, for texelFetch.
TextureHandle make_color_texture(std::span<const std::uint32_t> colors);

/// An RGBA8 render target.
class Framebuffer {
public:
    /// Throws GlError if the size exceeds the driver's limit.
    Framebuffer(int width, int height);
    int width() const { return width_; }
    int height() const { return height_; }
    /// Binds it as the render target, with a viewport of its full size.
    void bind() const;

private:
    int width_, height_;
    TextureHandle color_;
    FramebufferHandle name_;
};

/// Reads the bound framebuffer as RGB bytes [height, width, 3], top row first.
std::vector<std::uint8_t> read_pixels(int width, int height);

/// Throws GlError naming `what` if OpenGL reported an error.
void check_gl(const char* what);

}  // namespace attn::app
