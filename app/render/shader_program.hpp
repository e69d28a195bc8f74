#pragma once
/// Shader programs with uniforms set by name.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "app/render/gl_dialect.hpp"
#include "app/render/gl_objects.hpp"

namespace attn::app {

/// Where shaders are read from: a folder during development, otherwise the embedded files.
struct ShaderSource {
    std::filesystem::path folder;  ///< empty = the embedded files
    /// Throws GlError if the shader does not exist or cannot be read.
    std::string read(std::string_view name) const;
};

class ShaderProgram {
public:
    /// Inserts `definitions` ("#define ..." lines) after the fragment shader's first line, its #version. Throws GlError with the driver's
    /// message and the numbered source if a stage does not compile or the program does not link.
    ShaderProgram(std::string_view vertex_name, std::string_view vertex, std::string_view fragment_name, std::string_view fragment,
                  std::string_view definitions = {});
    void use() const { glUseProgram(program_.get()); }
    /// Sets a uniform of the program in use. Throws GlError if there is no such uniform or the compiler optimised it away.
    void set(std::string_view uniform, int value) const { glUniform1i(location(uniform), value); }
    void set(std::string_view uniform, float value) const { glUniform1f(location(uniform), value); }
    void set(std::string_view uniform, float x, float y) const { glUniform2f(location(uniform), x, y); }
    void set(std::string_view uniform, float x, float y, float z, float w) const { glUniform4f(location(uniform), x, y, z, w); }
    void set(std::string_view uniform, int x, int y) const { glUniform2i(location(uniform), x, y); }

private:
    GLint location(std::string_view uniform) const;
    ProgramHandle program_;
    std::map<std::string, GLint, std::less<>> uniforms_;
    std::string name_;
};

}  // namespace attn::app
