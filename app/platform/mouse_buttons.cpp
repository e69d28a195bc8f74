#include "app/platform/mouse_buttons.hpp"

namespace attn::app {
namespace {

constexpr double kDoubleClick = 0.45;  // in seconds; generous for slow hands

}  // namespace

void MouseQueue::add(int button, bool down, double time, double blind) {
    if (button < 0 || static_cast<std::size_t>(button) >= now_.down.size()) return;
    events_.push_back({static_cast<std::size_t>(button), down, time, blind});
}

MouseButtons MouseQueue::take() {
    std::array<bool, 3> changed{};
    while (!events_.empty() && !changed[events_.front().button]) {
        const Event event = events_.front();
        events_.pop_front();
        if (now_.down[event.button] == event.down) continue;
        changed[event.button] = true;
        now_.down[event.button] = event.down;
        if (!event.down) continue;
        now_.again = event.time - event.blind - pressed_at_[event.button] < kDoubleClick;
        pressed_at_[event.button] = event.time;
    }
    return now_;
}

}  // namespace attn::app
