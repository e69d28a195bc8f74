#pragma once
/// Keyboard focus and the tab order of our controls.

#include <imgui.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/widgets/box.hpp"

namespace attn::app {

/// A control drawn in a frame.
struct FocusStop {
    ImGuiID id = 0;
    std::string label, window;
    bool explained = false;  ///< it has a tooltip, or is a menu item, which needs none
    bool reachable = true;   ///< Tab stops here; false if it is disabled or redundant
    bool in_popup = false;
    ImVec2 pane{0, 0};             ///< corner of the pane that contains it
    std::string words{};           ///< what it is found by: its label, or what ControlNotes say
    float top = 0, bottom = 0;     ///< on the screen
    std::optional<bool> ticked{};  ///< see ControlNotes
    float left = 0, right = 0;
    bool in_menu() const { return in_popup && ticked.has_value(); }
};

/// A digit, a point or a minus.
bool is_of_number(ImWchar typed);

/// Controls register while they are drawn; Tab moves through those of the previous frame, pane by pane in reading order.
class KeyboardFocus {
public:
    void begin_frame();
    void note(FocusStop stop) { gathered_.push_back(std::move(stop)); }
    /// The controls drawn in this frame so far.
    const std::vector<FocusStop>& drawn() const { return gathered_; }
    /// The controls of the previous frame, in tab order.
    const std::vector<FocusStop>& stops() const { return stops_; }
    /// What is read, though not used: tooltips keep off it, too.
    void note_read(const Box& box) { read_gathered_.push_back(box); }
    /// That of the previous frame.
    const std::vector<Box>& read() const { return read_; }

    /// Moves to the next (+1) or previous (-1) control, wrapping around; `in_popup`: only within the open popup.
    void move(int direction, bool in_popup);
    /// Moves to the first control of the next pane, going round; the pane with the name `skipped` is left out.
    void move_to_next_pane(std::string_view skipped);
    /// To be called every frame with whether a popup is open: a menu begins at its ticked item, or else its first, and at its end the
    /// focus returns to where it was.
    void follow_menu(bool open);
    bool in_menu() const { return before_menu_.has_value(); }
    /// Moves to the first or last item of the open menu, or to its next one that begins with what is being typed; `now` in seconds.
    void move_to_end_of_menu(bool last);
    void move_to_letter(ImWchar letter, double now);
    /// Moves to the item of a menu that the mouse is moved over.
    void point_at(ImGuiID id);
    void hide() { visible_ = false; }
    /// Moves to the control that is found by these words, once it is drawn: to the last one, which lies over others. One that Tab does not
    /// stop at, or one of several alternatives that begin with them, is only scrolled to.
    void seek(std::string words) { sought_ = {std::move(words), kSeekFrames}; }
    bool visible() const { return visible_; }
    /// Whether the mouse has been moved since the start and since the focus moved. Otherwise what it rests on has no tooltip.
    bool points() const { return pointing_; }
    /// Whether it has not, and the focused control has one instead.
    bool speaks() const { return visible_ && !pointing_; }
    bool on(ImGuiID id) const { return visible_ && id == id_; }
    /// The focused control is a number: what is typed of one in the next frame is its own and no shortcut.
    void take_numbers() { takes_numbers_next_ = true; }
    bool takes_numbers() const { return takes_numbers_; }
    /// Takes what is typed of a number before its field has opened.
    void keep_typed_number();
    bool has_typed_number() const { return !typed_number_.empty(); }
    /// Gives it to the field that is active, from the next frame on.
    void hand_over_typed_number() { hands_number_over_ = true; }
    /// Makes the focused control press itself when it is drawn in this frame.
    void press() { pressed_ = true; }
    bool pressed() const { return pressed_; }
    /// Whether the control has to scroll into view.
    bool reveals(ImGuiID id) const { return id == revealed_ || (on(id) && arrived_); }
    /// True in the frame after the focus has moved: the control should scroll into view or start editing.
    bool arrived() const { return arrived_; }
    /// Whether a field that the focus has arrived at should take the keyboard: true once. Asked again while the field has it, ImGui would
    /// give it back to a field that the next Tab has just left.
    bool hand_over() { return arrived_ && !std::exchange(handed_over_, true); }

private:
    struct Focused {
        ImGuiID id = 0;
        std::size_t place = 0;  ///< index of the focused control, in case it disappears
        bool visible = false;
    };
    void go_to(std::size_t place);
    bool move_to_typed(std::size_t after);
    ImGuiID find_sought();

    std::vector<FocusStop> stops_, gathered_;
    std::vector<Box> read_, read_gathered_;
    ImGuiID id_ = 0, revealed_ = 0;
    std::size_t place_ = 0;
    std::optional<Focused> before_menu_;
    std::string typed_;         ///< letters of a menu's item
    std::string typed_number_;  ///< for a field that has not opened yet
    bool takes_numbers_ = false, takes_numbers_next_ = false, hands_number_over_ = false;
    static constexpr int kSeekFrames = 60;
    struct Sought {
        std::string words{};
        int frames = 0;  ///< for which it is still looked for
    };
    Sought sought_;
    double typed_at_ = 0;
    bool visible_ = false, pressed_ = false, arrived_ = false, moved_ = false, pointing_ = false, handed_over_ = false;
};

}  // namespace attn::app
