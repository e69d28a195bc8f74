#include "app/render/shader_program.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "assets/embedded.hpp"

namespace attn::app {

namespace {

std::string numbered(std::string_view source) {
    std::istringstream lines{std::string(source)};
    std::string text;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        const std::string digits = std::to_string(++number);
        text.append(4 - std::min<std::size_t>(4, digits.size()), ' ').append(digits).append("  ").append(line) += '\n';
    }
    return text;
}

/// Replaces the first line, the #version, by the head of the dialect and `definitions`. Line numbers in error messages stay those of the
/// original source.
std::string with_head(std::string_view source, std::string_view definitions) {
    const std::size_t after = std::min(source.find('\n'), source.size() - 1) + 1;
    return gl_dialect::kShaderHead + std::string(definitions) + "#line 2\n" + std::string(source.substr(after));
}

ShaderHandle compile(GLenum stage, std::string_view name, std::string_view source, std::string_view definitions = {}) {
    ShaderHandle shader(glCreateShader(stage));
    const std::string whole = with_head(source, definitions);
    const char* text = whole.data();
    const auto length = static_cast<GLint>(whole.size());
    glShaderSource(shader.get(), 1, &text, &length);
    glCompileShader(shader.get());
    GLint ok = 0, log_size = 0;
    glGetShaderiv(shader.get(), GL_COMPILE_STATUS, &ok);
    if (ok != 0) return shader;
    glGetShaderiv(shader.get(), GL_INFO_LOG_LENGTH, &log_size);
    std::string log(static_cast<std::size_t>(std::max(log_size, 1)), '\0');
    glGetShaderInfoLog(shader.get(), log_size, nullptr, log.data());
    log.resize(std::strlen(log.data()));
    throw GlError("shader " + std::string(name) + " does not compile:\n" + log + '\n' + numbered(source));
}

}  // namespace

std::string ShaderSource::read(std::string_view name) const {
    if (folder.empty()) {
        const EmbeddedFile* file = find_embedded(embedded_shaders(), name);
        if (file == nullptr) throw GlError("there is no shader " + std::string(name));
        return std::string(file->bytes);
    }
    const std::filesystem::path path = folder / name;
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file || text.empty()) throw GlError(path.string() + ": the shader cannot be read");
    return text;
}

ShaderProgram::ShaderProgram(std::string_view vertex_name, std::string_view vertex, std::string_view fragment_name,
                             std::string_view fragment, std::string_view definitions)
    : program_(glCreateProgram()), name_(fragment_name) {
    const ShaderHandle vertex_shader = compile(GL_VERTEX_SHADER, vertex_name, vertex);
    const ShaderHandle fragment_shader = compile(GL_FRAGMENT_SHADER, fragment_name, fragment, definitions);
    const GLuint id = program_.get();
    glAttachShader(id, vertex_shader.get());
    glAttachShader(id, fragment_shader.get());
    glLinkProgram(id);
    glDetachShader(id, vertex_shader.get());
    glDetachShader(id, fragment_shader.get());
    GLint ok = 0, log_size = 0, count = 0;
    glGetProgramiv(id, GL_LINK_STATUS, &ok);
    if (ok == 0) {
        glGetProgramiv(id, GL_INFO_LOG_LENGTH, &log_size);
        std::string log(static_cast<std::size_t>(std::max(log_size, 1)), '\0');
        glGetProgramInfoLog(id, log_size, nullptr, log.data());
        log.resize(std::strlen(log.data()));
        throw GlError("shaders " + std::string(vertex_name) + " and " + name_ + " do not link:\n" + log);
    }
    glGetProgramiv(id, GL_ACTIVE_UNIFORMS, &count);
    for (GLint i = 0; i < count; ++i) {
        char uniform[128] = {};
        GLint size = 0;
        GLenum type = 0;
        glGetActiveUniform(id, static_cast<GLuint>(i), sizeof uniform, nullptr, &size, &type, uniform);
        uniforms_.emplace(uniform, glGetUniformLocation(id, uniform));
    }
}

GLint ShaderProgram::location(std::string_view uniform) const {
    const auto found = uniforms_.find(uniform);
    if (found == uniforms_.end()) throw GlError("shader " + name_ + " has no uniform " + std::string(uniform));
    return found->second;
}

}  // namespace attn::app
