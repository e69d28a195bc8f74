#include "app/widgets/keyboard_focus.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "app/widgets/imgui_compat.hpp"

namespace attn::app {
namespace {

/// Orders panes from top to bottom, then from left to right.
bool comes_before(const FocusStop& a, const FocusStop& b) {
    const float row_a = std::round(a.pane.y / 8), row_b = std::round(b.pane.y / 8);
    return row_a != row_b ? row_a < row_b : a.pane.x < b.pane.x;
}

}  // namespace

bool is_of_number(ImWchar typed) { return (typed >= '0' && typed <= '9') || typed == '.' || typed == '-'; }

void KeyboardFocus::begin_frame() {
    stops_ = std::exchange(gathered_, {});
    read_ = std::exchange(read_gathered_, {});
    revealed_ = find_sought();
    std::stable_sort(stops_.begin(), stops_.end(), comes_before);
    pressed_ = false;
    takes_numbers_ = std::exchange(takes_numbers_next_, false);
    if (std::exchange(hands_number_over_, false))
        for (const char typed : std::exchange(typed_number_, {})) ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(typed));
    arrived_ = std::exchange(moved_, false);
    if (ImGui::IsMouseClicked(0) || ImGui::IsMouseClicked(1)) visible_ = false;
    const ImVec2 moved = ImGui::GetIO().MouseDelta;
    pointing_ |= moved.x != 0 || moved.y != 0;
    if (revealed_ == 0) return;
    const auto found = std::find_if(stops_.begin(), stops_.end(), [&](const FocusStop& stop) { return stop.id == revealed_; });
    if (found->reachable && found->words == sought_.words) go_to(static_cast<std::size_t>(found - stops_.begin()));
    pointing_ = true;  // its tooltip would cover its label
    sought_ = {};
}

/// The control that is sought, in the order in which the controls were drawn; 0 if it is not there.
ImGuiID KeyboardFocus::find_sought() {
    if (sought_.frames == 0 || sought_.frames-- == kSeekFrames) return 0;  // at first, these are the controls of the view before
    const auto last = [&](const auto& is_it) {
        const auto found = std::find_if(stops_.rbegin(), stops_.rend(), is_it);
        return found == stops_.rend() ? 0 : found->id;
    };
    const ImGuiID exact = last([&](const FocusStop& stop) { return stop.words == sought_.words; });
    return exact != 0 ? exact : last([&](const FocusStop& stop) { return stop.words.starts_with(sought_.words + " "); });
}

void KeyboardFocus::move(int direction, bool in_popup) {
    const auto usable = [&](const FocusStop& stop) { return stop.reachable && stop.in_popup == in_popup; };
    const auto count = static_cast<std::ptrdiff_t>(stops_.size());
    if (std::none_of(stops_.begin(), stops_.end(), usable)) return;
    // After a click, Tab continues from the clicked control. A menu begins with its first item, which ImGui has focused on opening.
    const ImGuiID from = in_popup && !visible_ ? 0 : visible_ || focused_item() == 0 ? id_ : focused_item();
    const auto found = std::find_if(stops_.begin(), stops_.end(), [&](const FocusStop& stop) { return stop.id == from; });
    std::ptrdiff_t at = found != stops_.end() ? found - stops_.begin()
                        : visible_            ? std::min(static_cast<std::ptrdiff_t>(place_), count - 1) - (direction > 0 ? 1 : 0)
                        : direction > 0       ? -1
                                              : count;
    do at = (at + direction + count) % count;
    while (!usable(stops_[static_cast<std::size_t>(at)]));
    go_to(static_cast<std::size_t>(at));
}

void KeyboardFocus::move_to_next_pane(std::string_view skipped) {
    const auto usable = [&](const FocusStop& stop) {
        return stop.reachable && !stop.in_popup && stop.window.find(skipped) == std::string::npos;
    };
    const auto now = std::find_if(stops_.begin(), stops_.end(), [&](const FocusStop& stop) { return visible_ && stop.id == id_; });
    const auto is_here = [&](const FocusStop& stop) { return stop.pane.x == now->pane.x && stop.pane.y == now->pane.y; };
    auto next = now == stops_.end()
                    ? std::find_if(stops_.begin(), stops_.end(), usable)
                    : std::find_if(now, stops_.end(), [&](const FocusStop& stop) { return usable(stop) && !is_here(stop); });
    if (next == stops_.end()) next = std::find_if(stops_.begin(), stops_.end(), usable);
    if (next != stops_.end()) go_to(static_cast<std::size_t>(next - stops_.begin()));
}

void KeyboardFocus::go_to(std::size_t place) {
    id_ = stops_[place].id;
    place_ = place;
    visible_ = arrived_ = true;
    pointing_ = false;
    moved_ = true;
    handed_over_ = false;
    typed_number_.clear();  // it was for another control
    release_keyboard_focus();
}

void KeyboardFocus::follow_menu(bool open) {
    if (!open && before_menu_) {
        id_ = before_menu_->id;
        place_ = before_menu_->place;
        visible_ = before_menu_->visible;
        before_menu_.reset();
    }
    if (!open || before_menu_) return;
    const auto first = std::find_if(stops_.begin(), stops_.end(), [](const FocusStop& stop) { return stop.in_menu(); });
    const auto ticked = std::find_if(first, stops_.end(), [](const FocusStop& stop) { return stop.in_menu() && *stop.ticked; });
    if (first == stops_.end()) return;  // not drawn yet, or no menu
    before_menu_ = Focused{id_, place_, visible_};
    go_to(static_cast<std::size_t>((ticked == stops_.end() ? first : ticked) - stops_.begin()));
}

void KeyboardFocus::move_to_end_of_menu(bool last) {
    const auto in_menu = [](const FocusStop& stop) { return stop.in_menu() && stop.reachable; };
    const auto first = std::find_if(stops_.begin(), stops_.end(), in_menu);
    if (first == stops_.end()) return;
    const auto end = std::find_if(stops_.rbegin(), stops_.rend(), in_menu).base() - 1;
    go_to(static_cast<std::size_t>((last ? end : first) - stops_.begin()));
}

void KeyboardFocus::move_to_letter(ImWchar letter, double now) {
    constexpr double kOneWord = 1;  // s between letters that belong together
    if (letter >= 0x80) return;
    const char small = static_cast<char>(std::tolower(static_cast<int>(letter)));
    if (now > typed_at_ + kOneWord) typed_.clear();
    typed_at_ = now;
    typed_ += small;
    // The same letter again goes on to the next item, and so does one with which no item goes on.
    if (typed_.size() > 1 && typed_.find_first_not_of(small) != std::string::npos && move_to_typed(0)) return;
    typed_ = small;
    move_to_typed(1);
}

/// Searches from this many places after the focused one. Spaces are left out, because the space bar presses the item.
bool KeyboardFocus::move_to_typed(std::size_t after) {
    const auto begins = [&](const FocusStop& stop) {
        std::string letters;
        for (const char c : stop.words)
            if (c != ' ' && letters.size() < typed_.size()) letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return stop.in_menu() && stop.reachable && letters == typed_;
    };
    for (std::size_t i = after; i <= stops_.size(); ++i)
        if (const std::size_t at = (place_ + i) % stops_.size(); begins(stops_[at])) {
            go_to(at);
            return true;
        }
    return false;
}

void KeyboardFocus::keep_typed_number() {
    for (const ImWchar typed : ImGui::GetIO().InputQueueCharacters)
        if (is_of_number(typed)) typed_number_ += static_cast<char>(typed);
    ImGui::GetIO().InputQueueCharacters.resize(0);
}

void KeyboardFocus::point_at(ImGuiID id) {
    const auto found = std::find_if(stops_.begin(), stops_.end(), [&](const FocusStop& stop) { return stop.id == id; });
    if (!before_menu_ || found == stops_.end()) return;
    id_ = id;
    place_ = static_cast<std::size_t>(found - stops_.begin());
    visible_ = true;
}

}  // namespace attn::app
