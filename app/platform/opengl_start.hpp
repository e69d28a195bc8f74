#pragma once
/// What differs between systems where a window's OpenGL is started; each has a file of its own with these functions.

#include <string>

#include "app/platform/gl_window.hpp"

namespace attn::app {

/// Starts GLFW; false where there is no screen.
bool start_glfw();

/// Why GLFW's last call failed.
std::string last_glfw_error();

/// Makes the functions of the current context callable; its driver's messages go to `messages`. False if there are none.
bool start_opengl(GlMessages& messages);

}  // namespace attn::app
