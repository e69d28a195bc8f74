#pragma once
/// Queues mouse button events between frames and delivers one press per frame, so that none is lost when frames are slow.

#include <array>
#include <deque>

namespace attn::app {

/// The button state for one frame.
struct MouseButtons {
    std::array<bool, 3> down{};
    bool again = true;  ///< a press in this frame completes a double-click
};

class MouseQueue {
public:
    /// Adds an event. `time` is when it was noticed, in seconds, after `blind` seconds without polling because a frame was drawn. Buttons
    /// other than the three are ignored.
    void add(int button, bool down, double time, double blind);
    bool empty() const { return events_.empty(); }
    /// The state for the next frame: all events up to the second change of any button.
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
