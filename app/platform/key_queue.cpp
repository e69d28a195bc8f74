#include "app/platform/key_queue.hpp"

#include <GLFW/glfw3.h>

namespace attn::app {
namespace {

/// Whether the key only types a character. GLFW's codes of such keys are below Escape.
bool only_types(int key, int modifiers) {
    return key < GLFW_KEY_ESCAPE && (modifiers & (GLFW_MOD_CONTROL | GLFW_MOD_ALT | GLFW_MOD_SUPER)) == 0;
}

}  // namespace

void KeyQueue::add_key(int key, int action, int modifiers) {
    repeats_ = action == GLFW_REPEAT;
    if (repeats_ || key < 0 || static_cast<std::size_t>(key) >= down_.size()) return;
    events_.push_back({key, action == GLFW_PRESS, modifiers, 0, false});
}

void KeyQueue::add_character(unsigned code) { events_.push_back({-1, false, 0, code, repeats_}); }

Keys KeyQueue::take(bool typing) {
    Keys keys;
    std::bitset<512> changed;
    for (; !events_.empty(); events_.pop_front()) {
        const Event& event = events_.front();
        if (event.key < 0) {
            const bool another = !typing && !keys.characters.empty();
            if (another && event.repeated) continue;
            if (another || (typing && changed.any())) break;
            keys.characters.push_back(event.code);
            continue;
        }
        const auto key = static_cast<std::size_t>(event.key);
        if (down_[key] == event.down) continue;
        if (changed[key]) break;
        down_[key] = event.down;
        if (event.key >= GLFW_KEY_LEFT_SHIFT) continue;  // a modifier, which does nothing by itself
        // Of these keys, a text field takes the characters alone.
        changed[key] = !typing || !only_types(event.key, event.modifiers);
        if (event.down) keys.modifiers |= event.modifiers;
    }
    keys.down = down_;
    return keys;
}

}  // namespace attn::app
