#pragma once
/// The window and its event loop, which sleeps while nothing happens.

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "app/platform/frame.hpp"

namespace attn::app {

class WindowLoop;

/// Wakes the event loop from any thread. May outlive the loop.
class Waker {
public:
    void wake();

private:
    friend class WindowLoop;
    void open(bool is_open);
    bool take() { return woken_.exchange(false); }

    std::mutex mutex_;
    bool open_ = false;
    std::atomic<bool> woken_{false};
};

struct LoopOptions {
    std::string title = "attnscope";
    std::filesystem::path settings_file;  ///< where changed settings are saved; empty = not saved
    std::filesystem::path shader_folder;  ///< empty = the embedded shaders
    std::function<bool()> stop{};         ///< polled several times a second; returning true closes the window immediately; empty: never
    int frames = 0;                       ///< close after this many frames; 0 = no limit
};

/// Opens the window at the position stored in `settings` and calls `ui` whenever something may have changed, until it asks to quit. The
/// close button is reported to `ui`. Throws PlatformError without a display or OpenGL 3.3, and whatever `ui` throws. Problems that leave
/// the window usable, such as settings that cannot be saved, are printed to stderr once.
void run_window(const LoopOptions& options, Settings& settings, Waker& waker, const DrawUi& ui);

/// The same window for a host that owns the loop, such as a browser. All arguments must outlive it.
class HostedWindow {
public:
    HostedWindow(const LoopOptions& options, Settings& settings, Waker& waker);
    ~HostedWindow();
    /// Handles the events that have come, and draws a frame if one is due; says whether it did.
    bool tick(const DrawUi& ui);
    /// The same as dropping a file on it.
    void drop(std::string file);

private:
    std::unique_ptr<WindowLoop> loop_;
};

}  // namespace attn::app
