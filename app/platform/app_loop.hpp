#pragma once
/// The window and its event loop. It sleeps while nothing happens.

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "app/platform/frame.hpp"

namespace attn::app {

/// Wakes the event loop; may outlive it and be called from any thread at any time.
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
    std::filesystem::path settings_file;  ///< where changed settings are saved; empty = nowhere
    std::filesystem::path shader_folder;  ///< empty = the shaders inside the program
    std::function<bool()> stop{};         ///< asked several times a second; true closes the window at once; none: never
    int frames = 0;                       ///< close after so many frames; 0 = when the user does
};

/// Opens the window where `settings` remember it and draws `ui` whenever something may have changed, until that asks to quit; the close
/// button is passed on to it.
/// Throws PlatformError without a display or OpenGL 3.3, and whatever `ui` throws; problems that leave the window usable, such as
/// settings that cannot be saved, are printed to stderr once.
void run_window(const LoopOptions& options, Settings& settings, Waker& waker, const DrawUi& ui);

}  // namespace attn::app
