#pragma once
/// The bar that says which number a colour means, and the menu that changes it.

#include <imgui.h>

#include "app/widgets/color_options.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct ColorBarOptions {
    float width = 14;  ///< of the bar itself, logical pixels
    float marker = 0;  ///< a number to point at where `has_marker`: the one under the mouse
    bool has_marker = false;
};

/// Bar in [min, min + width] × [min.y, max.y] with its ends, and 0 or the middle, written to the right; in a bar lower than two
/// lines without numbers. Returns the pixels that the widest number takes beside it.
float color_bar(const Ui& ui, ImVec2 min, float bottom, const HeatmapStyle& style, const ColorBarOptions& options = {});

/// The numbers at the ends of such a bar can be dragged up and down: the range is then fixed. True when the options changed.
bool drag_color_ends(const Ui& ui, const char* id, ImVec2 min, float bottom, const HeatmapStyle& shown, ColorOptions& options,
                     const ColorBarOptions& bar = {});

/// What the range is, as a link that opens the menu of the range, automatic or fixed, of the scale and of the colours; where there
/// is `gradual`, also whether maps pass over into each other. True when the options changed.
bool color_menu(const Ui& ui, const char* id, ColorOptions& options, bool probability, const HeatmapStyle& shown, bool* gradual = nullptr);

}  // namespace attn::app
