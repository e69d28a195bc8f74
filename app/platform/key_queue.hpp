#pragma once
/// Queues keys and characters between frames and delivers one press of a key per frame, so that none is lost when frames are slow.

#include <bitset>
#include <deque>
#include <vector>

namespace attn::app {

/// The keyboard's state for one frame.
struct Keys {
    std::bitset<512> down;             ///< by GLFW's key codes
    int modifiers = 0;                 ///< GLFW's modifiers that were held when keys of this frame were pressed
    std::vector<unsigned> characters;  ///< typed, in order
};

class KeyQueue {
public:
    /// Adds an event, as GLFW reports it.
    void add_key(int key, int action, int modifiers);
    void add_character(unsigned code);
    bool empty() const { return events_.empty(); }
    /// The state for the next frame: all events up to the second change of a key or the second character. A text field (`typing`) takes any
    /// number of characters at once, but none after a key such as Backspace, so that it sees both in order. Otherwise characters that a
    /// held key repeats faster than frames are drawn are dropped.
    Keys take(bool typing);

private:
    struct Event {
        int key;  ///< -1: a character
        bool down;
        int modifiers;
        unsigned code;
        bool repeated;  ///< a character of a key that is held
    };
    std::deque<Event> events_;
    std::bitset<512> down_;
    bool repeats_ = false;  ///< the last key event was a repetition
};

}  // namespace attn::app
