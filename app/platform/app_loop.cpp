#include "app/platform/app_loop.hpp"

#include "app/render/gl_dialect.hpp"
// Must follow it, because it declares OpenGL.
#include <GLFW/glfw3.h>
#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "app/platform/gl_window.hpp"
#include "app/platform/input_queue.hpp"
#include "app/platform/screen.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

namespace {

/// Frames drawn after an event, so that hover effects settle.
constexpr int kFramesPerEvent = 3;
/// After a keystroke in a text field only one frame is drawn at once, to leave the cores to the computation that it triggers. The others
/// follow after this delay in seconds.
constexpr double kSettleWhileTyping = 0.1;
/// Intervals in seconds for redrawing a blinking caret and for checking for changed shader files.
constexpr double kCaretPeriod = 0.25, kShaderPeriod = 0.5;
/// Interval in seconds for checking whether fonts are ready.
constexpr double kFontsPeriod = 0.05;
/// Upper bound for a sleep; any large value works.
constexpr double kLongestSleep = 60;
/// Interval in seconds for calling LoopOptions::stop.
constexpr double kStopPeriod = 0.25;

WindowPlacement remembered_placement(const Settings& settings) {
    return {settings.window_width, settings.window_height, settings.window_x,
            settings.window_y,     settings.window_placed, settings.window_maximized};
}

void remember_placement(GLFWwindow* window, Settings& settings) {
    settings.window_maximized = glfwGetWindowAttrib(window, GLFW_MAXIMIZED) != 0;
    if (settings.window_maximized || glfwGetWindowAttrib(window, GLFW_ICONIFIED) != 0) return;  // keep the size to restore
    settings.window_placed = true;
    glfwGetWindowPos(window, &settings.window_x, &settings.window_y);
    glfwGetWindowSize(window, &settings.window_width, &settings.window_height);
}

/// Events collected by GLFW's callbacks.
struct Events {
    bool any = true;
    bool letter = false;  ///< a character was typed; unless `any` is set, that is all that happened
    InputQueue input;
    double blind = 0;  ///< duration of the last frame in seconds, during which no events were polled
    std::vector<std::string> dropped_files;
};

/// Whether a key types or deletes a character. GLFW's codes of printable keys are below Escape.
bool is_letter_key(int key, int modifiers) {
    const bool prints = key >= GLFW_KEY_SPACE && key < GLFW_KEY_ESCAPE;
    return (prints || key == GLFW_KEY_BACKSPACE) && (modifiers & (GLFW_MOD_CONTROL | GLFW_MOD_ALT | GLFW_MOD_SUPER)) == 0;
}

Events& events_of(GLFWwindow* window) { return *static_cast<Events*>(glfwGetWindowUserPointer(window)); }

MousePosition mouse_of(GLFWwindow* window) {
    MousePosition at;
    glfwGetCursorPos(window, &at.x, &at.y);
    return at;
}

/// To be called before ImGui's backend installs its callbacks, which forward to these.
void listen(GLFWwindow* window, Events& events) {
    glfwSetWindowUserPointer(window, &events);
    glfwSetCursorPosCallback(window, [](GLFWwindow* w, double, double) { events_of(w).any = true; });
    glfwSetCursorEnterCallback(window, [](GLFWwindow* w, int) { events_of(w).any = true; });
    glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int button, int action, int modifiers) {
        Events& found = events_of(w);
        found.any = true;
        found.input.add_button(button, action == GLFW_PRESS, modifiers, mouse_of(w), glfwGetTime(), found.blind);
    });
#if IMGUI_VERSION_NUM >= 18700
    glfwSetScrollCallback(window, [](GLFWwindow* w, double, double) { events_of(w).any = true; });
#endif
    glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int, int action, int modifiers) {
        Events& found = events_of(w);
        (is_letter_key(key, modifiers) ? found.letter : found.any) = true;
        found.input.add_key(key, action, modifiers, glfwGetTime());
    });
    glfwSetWindowFocusCallback(window, [](GLFWwindow* w, int) { events_of(w).any = true; });
    glfwSetFramebufferSizeCallback(window, [](GLFWwindow* w, int, int) { events_of(w).any = true; });
    glfwSetWindowRefreshCallback(window, [](GLFWwindow* w) { events_of(w).any = true; });
    glfwSetWindowContentScaleCallback(window, [](GLFWwindow* w, float, float) { events_of(w).any = true; });
    glfwSetDropCallback(window, [](GLFWwindow* w, int count, const char** paths) {
        events_of(w).any = true;
        events_of(w).dropped_files.insert(events_of(w).dropped_files.end(), paths, paths + count);
    });
}

/// Replaces ImGui's own callbacks, so it must be installed after them.
void listen_instead(GLFWwindow* window) {
#if IMGUI_VERSION_NUM < 18700
    // ImGui's own would turn at once, before keys and clicks that came earlier.
    glfwSetScrollCallback(window, [](GLFWwindow* w, double x, double y) {
        events_of(w).any = true;
        events_of(w).input.add_wheel(x, y, mouse_of(w), glfwGetTime());
    });
#endif
    glfwSetCharCallback(window, [](GLFWwindow* w, unsigned code) {
        events_of(w).letter = true;
        events_of(w).input.add_character(code, glfwGetTime());
    });
}

float display_scale(GLFWwindow* window) {
    float x = 1, y = 1;
    glfwGetWindowContentScale(window, &x, &y);
    return std::max(x, y);
}

}  // namespace

void Waker::wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    if (open_) glfwPostEmptyEvent();
}

void Waker::open(bool is_open) {
    const std::lock_guard lock(mutex_);
    open_ = is_open;
}

class WindowLoop {
public:
    WindowLoop(const LoopOptions& options, Settings& settings, Waker& waker)
        : options_(options), settings_(settings), waker_(waker), saved_(settings),
          window_(options.title, remembered_placement(settings), true) {
        listen(window_.get(), events_);
        glfwSwapInterval(1);
        screen_ = std::make_unique<Screen>(window_.get(), options.shader_folder);
        listen_instead(window_.get());
        waker_.open(true);
    }
    ~WindowLoop() { waker_.open(false); }
    WindowLoop(const WindowLoop&) = delete;
    WindowLoop& operator=(const WindowLoop&) = delete;

    void run(const DrawUi& ui) {
        for (int frame = 0; !quit_ && !stopped() && (options_.frames == 0 || frame < options_.frames);)
            if (tick(ui)) ++frame;
        while (!take_pictures(ui)) glfwWaitEventsTimeout(kFontsPeriod);
        remember();
    }

    /// Whether a frame was drawn.
    bool tick(const DrawUi& ui) {
        wait_for_events();
        notice_close_button();
        int width = 0, height = 0;
        glfwGetFramebufferSize(window_.get(), &width, &height);
        if (frames_due_ == 0 || width <= 0 || height <= 0) return false;  // asleep or minimised
        --frames_due_;
        draw(ui, width, height);
        return true;
    }

    void drop(std::string file) {
        events_.any = true;
        events_.dropped_files.push_back(std::move(file));
    }

private:
    bool stopped() const { return options_.stop && options_.stop(); }

    /// The UI decides whether to close. It may want to ask first, so restore a minimised window.
    void notice_close_button() {
        if (glfwWindowShouldClose(window_.get()) == 0) return;
        glfwSetWindowShouldClose(window_.get(), GLFW_FALSE);
        if (glfwGetWindowAttrib(window_.get(), GLFW_ICONIFIED) != 0) glfwRestoreWindow(window_.get());
        close_asked_ = true;
        frames_due_ = kFramesPerEvent;
    }

    void wait_for_events() {
        const double now = glfwGetTime();
        const bool minimized = glfwGetWindowAttrib(window_.get(), GLFW_ICONIFIED) != 0;
        if (frames_due_ > 0 && !minimized) {
            glfwPollEvents();
        } else {
            remember();
            double sleep = std::clamp(redraw_at_ - now, 0.0, kLongestSleep);
            if (options_.stop) sleep = std::min(sleep, kStopPeriod);
            if (!options_.shader_folder.empty()) sleep = std::min(sleep, kShaderPeriod);
            if (minimized || sleep > 0) glfwWaitEventsTimeout(std::max(sleep, minimized ? 0.1 : 0.001));
            else glfwPollEvents();  // even if frames are wanted without a pause
        }
        const bool timed = glfwGetTime() >= redraw_at_ || !options_.shader_folder.empty();
        if (std::exchange(events_.letter, false)) {
            if (typing_) {
                frames_due_ = std::max(frames_due_, 1);
                settle_at_ = glfwGetTime() + kSettleWhileTyping;
            } else {
                events_.any = true;
            }
        }
        if (glfwGetTime() >= settle_at_) {
            settle_at_ = std::numeric_limits<double>::infinity();
            frames_due_ = std::max(frames_due_, kFramesPerEvent - 1);
        }
        // A tooltip's window is measured in the first of these frames and visible from the second on.
        if (std::exchange(events_.any, false) || glfwGetTime() >= tooltip_at_) frames_due_ = kFramesPerEvent;
        // take() resets the flag, so it must be evaluated even if `timed` is set.
        if (waker_.take() || timed) frames_due_ = std::max(frames_due_, 1);
    }

    void draw(const DrawUi& ui, int width, int height) {
        target_ = {width, height, display_scale(window_.get()), glfwGetTime(), 0};
        const double begun = glfwGetTime();
        Input input = events_.input.take(typing_, glfwGetTime(), pointed_);
        pointed_ = input.mouse.at.value_or(mouse_of(window_.get()));
        const Screen::Requests requests = screen_->draw(
            ui, settings_, target_, {std::exchange(events_.dropped_files, {}), std::exchange(close_asked_, false), std::move(input)});
        // What does not fit into a frame follows in the next ones, which count as event frames too.
        if (!events_.input.empty()) frames_due_ = kFramesPerEvent;
        if (!requests.title.empty() && requests.title != title_) glfwSetWindowTitle(window_.get(), (title_ = requests.title).c_str());
        if (requests.hold > 0) held_frames_ = std::max(held_frames_, std::exchange(frames_due_, 0) + 1);
        else {
            glfwSwapBuffers(window_.get());
            if (requests.on_screen && !requests.maps_pending) requests.on_screen();
            frames_due_ = std::max(frames_due_, std::exchange(held_frames_, 0) - 1);
        }
        if (requests.maps_pending) frames_due_ = std::max(frames_due_, 1);
        if (requests.picture) orders_.push_back(*requests.picture);
        double next = requests.hold > 0 ? requests.hold : requests.redraw_after;
        if (!take_pictures(ui) || requests.fonts_pending) next = std::min(next, kFontsPeriod);
        typing_ = requests.typing;
        if (typing_) next = std::min(next, kCaretPeriod);
        next = std::min(next, settle_at_ - glfwGetTime());
        tooltip_at_ = glfwGetTime() + requests.tooltip_after;
        next = std::min(next, requests.tooltip_after);
        events_.blind = glfwGetTime() - begun;
        redraw_at_ = glfwGetTime() + std::max(next, 0.0);
        quit_ = quit_ || requests.quit;
        report(screen_->shader_problem());
        if (!window_.messages().empty()) report(window_.messages().back());
    }

    /// False while the first picture is waiting for its fonts; the window continues meanwhile.
    bool take_pictures(const DrawUi& ui) {
        while (!orders_.empty()) {
            try {
                if (!screen_->ready_for(orders_.front())) return false;
                orders_.front().take(screen_->take_picture(ui, settings_, target_, orders_.front()));
            } catch (const std::exception& error) {
                orders_.front().fail(error.what());
            }
            orders_.pop_front();
        }
        return true;
    }

    void remember() {
        remember_placement(window_.get(), settings_);
        if (settings_ == saved_ || options_.settings_file.empty()) return;
        saved_ = settings_;
        try {
            save_settings(options_.settings_file, settings_);
        } catch (const Error& error) {
            report(error.what());
        }
    }

    /// Prints a problem once, not in every frame.
    void report(const std::string& problem) {
        if (problem.empty() || problem == reported_) return;
        reported_ = problem;
        fmt::print(stderr, "attnscope: {}\n", problem);
    }

    const LoopOptions& options_;
    Settings& settings_;
    Waker& waker_;
    Settings saved_;
    GlWindow window_;
    Events events_;
    std::unique_ptr<Screen> screen_;
    int frames_due_ = kFramesPerEvent;
    int held_frames_ = 0;  ///< frames due when the current hold began
    double redraw_at_ = 0;
    double tooltip_at_ = std::numeric_limits<double>::infinity();
    double settle_at_ = std::numeric_limits<double>::infinity();  ///< when to draw the remaining frames after a keystroke
    bool typing_ = false;                                         ///< a text field has the focus
    std::optional<MousePosition> pointed_;                        ///< where the mouse was in the last frame
    bool close_asked_ = false, quit_ = false;
    std::string reported_, title_;
    Screen::Target target_;            ///< of the last frame
    std::deque<PictureOrder> orders_;  // not done yet
};

HostedWindow::HostedWindow(const LoopOptions& options, Settings& settings, Waker& waker)
    : loop_(std::make_unique<WindowLoop>(options, settings, waker)) {}
HostedWindow::~HostedWindow() = default;
bool HostedWindow::tick(const DrawUi& ui) { return loop_->tick(ui); }
void HostedWindow::drop(std::string file) { loop_->drop(std::move(file)); }

void run_window(const LoopOptions& options, Settings& settings, Waker& waker, const DrawUi& ui) {
    WindowLoop(options, settings, waker).run(ui);
}

}  // namespace attn::app
