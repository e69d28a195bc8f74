#include "app/platform/opengl_start.hpp"

#include <GLFW/glfw3.h>

#include "app/web/browser.hpp"

namespace attn::app {

/// Emscripten's GLFW ends the program under node, which has no page.
bool start_glfw() { return browser::is_here() && glfwInit() != GLFW_FALSE; }

std::string last_glfw_error() { return "the browser gave no reason"; }

/// They are linked, not loaded. A browser writes what its driver says to its own console.
bool start_opengl(GlMessages&) { return true; }

}  // namespace attn::app
