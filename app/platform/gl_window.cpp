#include "app/platform/gl_window.hpp"

#include "app/render/gl_dialect.hpp"
// Must follow it, because it declares OpenGL.
#include <GLFW/glfw3.h>

#include <algorithm>

#include "app/platform/opengl_start.hpp"
#include "app/platform/platform_error.hpp"

namespace attn::app {

namespace {

std::vector<WorkArea> work_areas() {
    int count = 0;
    GLFWmonitor** monitors = glfwGetMonitors(&count);
    std::vector<WorkArea> areas(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < areas.size(); ++i) {
        WorkArea& area = areas[i];
        glfwGetMonitorWorkarea(monitors[i], &area.x, &area.y, &area.width, &area.height);
    }
    return areas;
}

/// Below this, in screen coordinates, nothing but menus would be left of the interface.
constexpr int kLeastWidth = 720, kLeastHeight = 420;

}  // namespace

GlWindow::Library::Library() {
    if (!start_glfw())
        throw PlatformError("no window can be opened here (" + last_glfw_error() +
                            "): set DISPLAY or WAYLAND_DISPLAY, or start under xvfb-run");
}

GlWindow::Library::~Library() { glfwTerminate(); }

GlWindow::GlWindow(const std::string& title, const WindowPlacement& wanted, bool visible) : messages_(std::make_unique<GlMessages>()) {
    const WindowPlacement placement = visible ? visible_placement(wanted, work_areas()) : wanted;
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
    glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);  // shown once it has been placed
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, placement.placed ? GLFW_FALSE : GLFW_TRUE);
    glfwWindowHint(GLFW_MAXIMIZED, placement.maximized && visible ? GLFW_TRUE : GLFW_FALSE);
    // Desktops use these to find the window's .desktop entry and icon.
    glfwWindowHintString(GLFW_X11_CLASS_NAME, "attnscope");
    glfwWindowHintString(GLFW_X11_INSTANCE_NAME, "attnscope");
#ifdef GLFW_WAYLAND_APP_ID
    glfwWindowHintString(GLFW_WAYLAND_APP_ID, "attnscope");
#endif
#ifndef NDEBUG
    glfwWindowHint(GLFW_OPENGL_DEBUG_CONTEXT, GLFW_TRUE);
#endif
    window_ = glfwCreateWindow(std::max(placement.width, 1), std::max(placement.height, 1), title.c_str(), nullptr, nullptr);
    if (window_ == nullptr) throw PlatformError("OpenGL 3.3 is not available here: " + last_glfw_error());
    glfwMakeContextCurrent(window_);
    if (!start_opengl(*messages_)) {
        glfwDestroyWindow(window_);
        throw PlatformError("OpenGL 3.3 is not available here: its functions are missing");
    }
    if (!visible) return;
    glfwSetWindowSizeLimits(window_, std::min(kLeastWidth, placement.width), std::min(kLeastHeight, placement.height), GLFW_DONT_CARE,
                            GLFW_DONT_CARE);
    if (placement.placed && !placement.maximized) glfwSetWindowPos(window_, placement.x, placement.y);
    glfwShowWindow(window_);
}

GlWindow::~GlWindow() { glfwDestroyWindow(window_); }

}  // namespace attn::app
