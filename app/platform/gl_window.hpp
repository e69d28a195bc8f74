#pragma once
/// A GLFW window with an OpenGL 3.3 core context; hidden if only the context is needed.

#include <memory>
#include <string>
#include <vector>

#include "app/platform/window_placement.hpp"

struct GLFWwindow;

namespace attn::app {

/// OpenGL driver messages above notification severity, newest last, at most 64.
using GlMessages = std::vector<std::string>;

/// At most one instance at a time; main thread only.
class GlWindow {
public:
    /// Opens a window at a visible position (or only a context) and makes its context current. Throws PlatformError without a display or
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
