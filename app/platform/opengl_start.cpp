#include "app/platform/opengl_start.hpp"

#include <glad/gl.h>
// Must follow glad, which declares OpenGL.
#include <GLFW/glfw3.h>

#include <algorithm>

namespace attn::app {

namespace {

constexpr std::size_t kMaxMessages = 64;

void GLAD_API_PTR on_gl_message(GLenum, GLenum, GLuint, GLenum severity, GLsizei length, const GLchar* text, const void* user) {
    if (severity == GL_DEBUG_SEVERITY_NOTIFICATION) return;
    auto& messages = *static_cast<GlMessages*>(const_cast<void*>(user));
    if (messages.size() == kMaxMessages) messages.erase(messages.begin());
    messages.emplace_back(text, static_cast<std::size_t>(std::max(length, 0)));
}

}  // namespace

bool start_glfw() { return glfwInit() != GLFW_FALSE; }

std::string last_glfw_error() {
    const char* text = nullptr;
    glfwGetError(&text);
    return text != nullptr ? text : "no reason given";
}

bool start_opengl(GlMessages& messages) {
    if (gladLoadGL(glfwGetProcAddress) == 0) return false;
    if (GLAD_GL_KHR_debug != 0) {
        glDebugMessageCallback(on_gl_message, &messages);
#ifndef NDEBUG
        glEnable(GL_DEBUG_OUTPUT);
        glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
#endif
    }
    return true;
}

}  // namespace attn::app
