#pragma once
/// What every control of ours starts from: an invisible item with its state, greyed where it is disabled.

#include <imgui.h>

#include "app/widgets/controls.hpp"

namespace attn::app {

struct Item {
    ImVec2 min{0, 0}, max{0, 0};
    bool pressed = false, hovered = false, held = false, focused = false, disabled = false;
    bool ringed = false;  ///< the keyboard came to it by Tab
    bool by_key = false;  ///< `pressed` comes from there, not from the mouse
    float width() const { return max.x - min.x; }
    float height() const { return max.y - min.y; }
};

/// An item of this size (pixels) at the cursor; shows the notes' tooltip, or why it is disabled.
Item begin_item(const Ui& ui, const char* id, ImVec2 size, const ControlNotes& notes = {});
/// Makes ImGui's last item, which is no item of ours, one that Tab can reach. True when it is pressed by key.
bool join_keyboard(const Ui& ui, const char* label, const ControlNotes& notes, Item& item);
/// The same at a place of its own; the cursor stays where it was.
Item item_at(const Ui& ui, const char* id, ImVec2 min, ImVec2 size, const ControlNotes& notes = {});
/// An area that reads out what is under the mouse and has no keys of its own; true when it was clicked.
bool pointing_area(const char* id, ImVec2 size);
/// A ring around the item that the keyboard is on.
void draw_focus_ring(const Ui& ui, const Item& item, float rounding);
/// Writes the notes' error below the last item, if there is one.
void error_line(const Ui& ui, const ControlNotes& notes);
/// The part of a label that is shown: what stands before "##".
std::string_view shown_label(const char* label);
/// Width in pixels that a control may take: logical `width`, the pane's where negative, `natural` where 0.
float resolve_width(const Ui& ui, float width, float natural);

}  // namespace attn::app
