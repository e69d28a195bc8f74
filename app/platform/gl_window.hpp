#pragma once
/// A GLFW window with an OpenGL 3.3 core context; hidden when only the context is wanted.

#include <memory>
#include <string>
#include <vector>

#include "app/platform/window_placement.hpp"

struct GLFWwindow;

namespace attn::app {

/// Messages of severity above notification that the OpenGL driver has sent, newest last; at most 64 are kept.
using GlMessages = std::vector<std::string>;

/// One at a time; used from the main thread.
class GlWindow {
public:
    /// Opens the window where it can be seen (or only a context) and makes its context current. Throws PlatformError without a display or
    /// OpenGL 3.3.
    GlWindow(const std::string& title, const WindowPlacement& wanted, bool visible);
    ~GlWindow();
    GlWindow(const GlWindow&) = delete;
    GlWindow& operator=(const GlWindow&) = delete;

    GLFWwindow* get() const { return window_; }
    const GlMessages& messages() const { return *messages_; }

private:
    struct Library {
        Library();
        ~Library();
    };
    Library library_;
    std::unique_ptr<GlMessages> messages_;
    GLFWwindow* window_ = nullptr;
};

}  // namespace attn::app
