#pragma once
/// What the mouse's buttons did between two frames, one press a frame, so that none is lost however slowly frames are drawn.

#include <array>
#include <deque>

namespace attn::app {

/// As one frame sees them.
struct MouseButtons {
    std::array<bool, 3> down{};
    bool again = true;  ///< a press in this frame follows the one before it as a double-click does
};

class MouseQueue {
public:
    /// A button went down or up; noticed at `time`, in seconds, after `blind` seconds in which nothing could be noticed because a frame
    /// was drawn. Buttons other than the three are none of ours.
    void add(int button, bool down, double time, double blind);
    bool empty() const { return events_.empty(); }
    /// What the next frame sees: everything up to the second change of any button.
    MouseButtons take();

private:
    struct Event {
        std::size_t button;
        bool down;
        double time, blind;
    };
    std::deque<Event> events_;
    MouseButtons now_;
    std::array<double, 3> pressed_at_{-1e9, -1e9, -1e9};
};

}  // namespace attn::app
