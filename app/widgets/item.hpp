#pragma once
/// What every control of ours starts from: an invisible item with its state, greyed where it is disabled.

#include <imgui.h>

#include "app/widgets/controls.hpp"

namespace attn::app {

struct Item {
    ImVec2 min, max;
    bool pressed = false, hovered = false, held = false, focused = false, disabled = false;
    float width() const { return max.x - min.x; }
    float height() const { return max.y - min.y; }
};

/// An item of this size (pixels) at the cursor; shows the notes' tooltip, or why it is disabled.
Item begin_item(const Ui& ui, const char* id, ImVec2 size, const ControlNotes& notes = {});
/// The same at a place of its own; the cursor stays where it was.
Item item_at(const Ui& ui, const char* id, ImVec2 min, ImVec2 size, const ControlNotes& notes = {});
/// A ring around the item that the keyboard is on.
void draw_focus_ring(const Ui& ui, const Item& item, float rounding);
/// Writes the notes' error below the last item, if there is one.
void error_line(const Ui& ui, const ControlNotes& notes);
/// The part of a label that is shown: what stands before "##".
std::string_view shown_label(const char* label);
/// Width in pixels that a control may take: logical `width`, the pane's where negative, `natural` where 0.
float resolve_width(const Ui& ui, float width, float natural);

}  // namespace attn::app
