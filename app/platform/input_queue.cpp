#include "app/platform/input_queue.hpp"

#include <GLFW/glfw3.h>

#include <algorithm>

namespace attn::app {
namespace {

constexpr double kDoubleClick = 0.45;  // in seconds; generous for slow hands
/// Seconds after which an event that is still waiting would only surprise.
constexpr double kStale = 1;

/// Whether the key only types a character. GLFW's codes of such keys are below Escape.
bool only_types(int key, int modifiers) {
    return key < GLFW_KEY_ESCAPE && (modifiers & (GLFW_MOD_CONTROL | GLFW_MOD_ALT | GLFW_MOD_SUPER)) == 0;
}

/// A modifier does nothing by itself.
bool is_modifier(int key) { return key >= GLFW_KEY_LEFT_SHIFT; }

}  // namespace

void InputQueue::add_key(int key, int action, int modifiers, double time) {
    repeats_ = action == GLFW_REPEAT;
    if (repeats_ || key < 0 || static_cast<std::size_t>(key) >= keys_.size()) return;
    events_.push_back({.kind = Kind::Key, .code = key, .down = action == GLFW_PRESS, .modifiers = modifiers, .time = time});
}

void InputQueue::add_character(unsigned code, double time) {
    events_.push_back({.kind = Kind::Character, .code = static_cast<int>(code), .down = true, .repeated = repeats_, .time = time});
}

void InputQueue::add_button(int button, bool down, int modifiers, MousePosition at, double time, double blind) {
    if (button < 0 || static_cast<std::size_t>(button) >= buttons_.size()) return;
    events_.push_back({.kind = Kind::Button, .code = button, .down = down, .modifiers = modifiers, .at = at, .time = time, .blind = blind});
}

void InputQueue::add_wheel(double x, double y, MousePosition at, double time) {
    events_.push_back({.kind = Kind::Wheel, .down = true, .at = at, .turned = {x, y}, .time = time});
}

bool InputQueue::waits(const Event& event, const Input& input, const Taken& taken, bool typing) const {
    const auto code = static_cast<std::size_t>(event.code);
    switch (event.kind) {
    case Kind::Key:
        return !is_modifier(event.code) && (taken.keys[code] || (event.down && taken.mouse));
    case Kind::Character:
        return taken.mouse || (typing ? taken.keys.any() : !input.keys.characters.empty());
    case Kind::Button:
        if (event.down && pointed_ && *pointed_ != event.at) return true;
        return taken.keyboard || taken.buttons[code] || (taken.mouse && input.mouse.at != event.at);
    case Kind::Wheel:
        return taken.keyboard || taken.buttons.any() || (taken.mouse && input.mouse.at != event.at);
    }
    return false;
}

void InputQueue::deliver(const Event& event, Input& input, Taken& taken, bool typing) {
    const auto code = static_cast<std::size_t>(event.code);
    if (event.down) input.keys.modifiers |= event.modifiers;
    (event.of_mouse() ? taken.mouse : taken.keyboard) |= event.down || event.of_mouse();
    if (event.of_mouse()) input.mouse.at = event.at;
    switch (event.kind) {
    case Kind::Key:
        keys_[code] = event.down;
        // Of these keys, a text field takes the characters alone.
        taken.keys[code] = !typing || !only_types(event.code, event.modifiers);
        break;
    case Kind::Character:
        input.keys.characters.push_back(static_cast<unsigned>(event.code));
        break;
    case Kind::Button:
        taken.buttons[code] = true;
        buttons_[code] = event.down;
        if (!event.down) break;
        again_ = event.time - event.blind - pressed_at_[code] < kDoubleClick;
        pressed_at_[code] = event.time;
        break;
    case Kind::Wheel:
        input.mouse.wheel_x += event.turned.x;
        input.mouse.wheel_y += event.turned.y;
        break;
    }
}

Input InputQueue::take(bool typing, double now, const std::optional<MousePosition>& pointed) {
    pointed_ = pointed;
    Input input;
    Taken taken;
    for (; !events_.empty(); events_.pop_front()) {
        const Event& event = events_.front();
        const auto code = static_cast<std::size_t>(event.code);
        const bool keeps = event.of_mouse() ? event.kind == Kind::Button && buttons_[code] == event.down
                                            : event.kind == Kind::Key && keys_[code] == event.down;
        if (keeps) continue;  // such as the release of what was dropped
        if (event.kind == Kind::Key && is_modifier(event.code)) {
            keys_[code] = event.down;
            continue;
        }
        if (event.down && !typing && now - event.time > kStale) continue;
        if (event.repeated && !typing && !input.keys.characters.empty()) continue;
        if (waits(event, input, taken, typing)) break;
        deliver(event, input, taken, typing);
    }
    if (!input.mouse.at) {
        const auto next = std::find_if(events_.begin(), events_.end(), [](const Event& event) { return event.of_mouse(); });
        if (next != events_.end()) input.mouse.at = next->at;
    }
    input.keys.down = keys_;
    input.mouse.down = buttons_;
    input.mouse.again = again_;
    return input;
}

}  // namespace attn::app
