#pragma once
/// Which control the keyboard is on, and the controls that Tab goes through.

#include <imgui.h>

#include <cstddef>
#include <string>
#include <vector>

namespace attn::app {

/// A control as it was drawn.
struct FocusStop {
    ImGuiID id = 0;
    std::string label, window;
    bool explained = false;  ///< it has a tooltip, or is a line of a menu, which is text by itself
    bool reachable = true;   ///< Tab stops at it: it can be used, and nothing else does the same
    bool in_popup = false;
    ImVec2 pane{0, 0};  ///< corner of the pane that it is in
};

/// Controls note themselves while they are drawn; Tab goes through those of the frame before, pane by pane in reading order.
class KeyboardFocus {
public:
    void begin_frame();
    void note(FocusStop stop) { gathered_.push_back(std::move(stop)); }
    /// Of the frame before, in the order of Tab.
    const std::vector<FocusStop>& stops() const { return stops_; }

    /// To the next (+1) or previous (-1) one, round and round; only through an open popup's own when `in_popup`.
    void move(int direction, bool in_popup);
    void hide() { visible_ = false; }
    bool visible() const { return visible_; }
    bool on(ImGuiID id) const { return visible_ && id == id_; }
    /// The control presses itself when it is drawn in this frame.
    void press() { pressed_ = true; }
    bool pressed() const { return pressed_; }
    /// True in the frame after it has moved: time to scroll there, or to begin typing.
    bool arrived() const { return arrived_; }

private:
    std::vector<FocusStop> stops_, gathered_;
    ImGuiID id_ = 0;
    std::size_t place_ = 0;  ///< where it was, should the control be gone
    bool visible_ = false, pressed_ = false, arrived_ = false, moved_ = false;
};

}  // namespace attn::app
