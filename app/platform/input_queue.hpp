#pragma once
/// Queues keys, characters, mouse buttons and wheel turns between frames and delivers them in order, one press per frame, so that none is
/// lost when frames are slow and none overtakes another.

#include <array>
#include <bitset>
#include <deque>
#include <optional>
#include <vector>

namespace attn::app {

/// The keyboard's state for one frame.
struct Keys {
    std::bitset<512> down;             ///< by GLFW's key codes
    int modifiers = 0;                 ///< GLFW's modifiers that were held when keys or buttons of this frame were pressed
    std::vector<unsigned> characters;  ///< typed, in order
};

/// In screen coordinates of the window.
struct MousePosition {
    double x = 0, y = 0;
    bool operator==(const MousePosition&) const = default;
};

/// The mouse's state for one frame.
struct Mouse {
    std::array<bool, 3> down{};
    bool again = true;                ///< a press in this frame completes a double-click
    std::optional<MousePosition> at;  ///< where it was at the events of this frame, or is to be at the next ones; none: where it is
    double wheel_x = 0, wheel_y = 0;
};

struct Input {
    Keys keys;
    Mouse mouse;
};

class InputQueue {
public:
    /// Events as GLFW reports them. `time` is when they were noticed, in seconds.
    void add_key(int key, int action, int modifiers, double time);
    void add_character(unsigned code, double time);
    /// `blind`: how long nothing could be noticed before, because a frame was drawn. Buttons other than the three are ignored.
    void add_button(int button, bool down, int modifiers, MousePosition at, double time, double blind);
    void add_wheel(double x, double y, MousePosition at, double time);
    bool empty() const { return events_.empty(); }
    /// The state for the next frame, at `now`: all events up to the second change of a key or button, the second character, or the change
    /// from the keyboard to the mouse or back. A text field (`typing`) takes any number of characters at once, but none after a key such
    /// as Backspace, so that it sees both in order. Otherwise characters that a held key repeats faster than frames are drawn are dropped,
    /// and so is everything that was noticed more than a second ago, except what releases a key or button. A press waits for a frame in
    /// which the mouse is already there, unless it was there in the last one (`pointed`; none: not known): what it meets may depend on what
    /// it has pointed at.
    Input take(bool typing, double now, const std::optional<MousePosition>& pointed = {});

private:
    enum class Kind : unsigned char { Key, Character, Button, Wheel };
    struct Event {
        Kind kind = Kind::Key;
        int code = 0;  ///< the key, character or button
        bool down = false;
        int modifiers = 0;
        bool repeated = false;  ///< a character of a key that is held
        MousePosition at{};     ///< of the mouse's events; for the wheel also `turned`
        MousePosition turned{};
        double time = 0, blind = 0;
        bool of_mouse() const { return kind == Kind::Button || kind == Kind::Wheel; }
    };
    /// What a frame has taken so far.
    struct Taken {
        std::bitset<512> keys{};
        std::bitset<3> buttons{};
        bool keyboard = false, mouse = false;
    };
    /// Whether it has to wait for the next frame.
    bool waits(const Event& event, const Input& input, const Taken& taken, bool typing) const;
    void deliver(const Event& event, Input& input, Taken& taken, bool typing);

    std::deque<Event> events_;
    std::bitset<512> keys_;
    std::array<bool, 3> buttons_{};
    std::array<double, 3> pressed_at_{-1e9, -1e9, -1e9};
    std::optional<MousePosition> pointed_;
    bool again_ = true;
    bool repeats_ = false;  ///< the last key event was a repetition
};

}  // namespace attn::app
