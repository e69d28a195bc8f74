#pragma once
/// The basis of all our controls: an invisible item with its state, greyed out if disabled.

#include <imgui.h>

#include "app/widgets/controls.hpp"

namespace attn::app {

struct Item {
    ImVec2 min{0, 0}, max{0, 0};
    bool pressed = false, hovered = false, held = false, focused = false, disabled = false;
    bool ringed = false;  ///< focused with Tab
    bool by_key = false;  ///< `pressed` was caused by the keyboard
    float width() const { return max.x - min.x; }
    float height() const { return max.y - min.y; }
};

/// An item of this size (in pixels) at the cursor; shows the tooltip or the reason why it is disabled.
Item begin_item(const Ui& ui, const char* id, ImVec2 size, const ControlNotes& notes = {});
/// Makes the last ImGui item, which is not one of ours, reachable with Tab. True if it is pressed by keyboard.
bool join_keyboard(const Ui& ui, const char* label, const ControlNotes& notes, Item& item);
/// The same at a given position, without moving the cursor.
Item item_at(const Ui& ui, const char* id, ImVec2 min, ImVec2 size, const ControlNotes& notes = {});
/// An area that reports hovering and clicks but is not reachable with Tab; true if clicked.
bool pointing_area(const char* id, ImVec2 size);
/// Draws a ring around the item that has the keyboard focus.
void draw_focus_ring(const Ui& ui, const Item& item, float rounding);
/// Shows the error of `notes` below the last item, if there is one.
void error_line(const Ui& ui, const ControlNotes& notes);
/// The visible part of a label: everything before "##".
std::string_view shown_label(const char* label);
/// The width of a control in pixels: the logical `width`, the pane's if negative, `natural` if 0.
float resolve_width(const Ui& ui, float width, float natural);

}  // namespace attn::app
