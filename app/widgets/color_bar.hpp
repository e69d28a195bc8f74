#pragma once
/// The colour bar of a heatmap and the menu for its range and colours.

#include <imgui.h>

#include <span>
#include <string_view>

#include "app/widgets/color_options.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct ColorBarOptions {
    float width = 14;  ///< of the bar itself, in logical pixels
    float marker = 0;  ///< if `has_marker`: a number to point at, such as the hovered cell's
    bool has_marker = false;
    bool turned = false;     ///< the numbers it stands for are those of the style with the other sign
    bool cut_above = false;  ///< larger numbers are common and get the colour of the upper end
};

/// Draws a bar in [min.x, min.x + width] × [min.y, bottom] with its ends and 0 or the middle labelled on the right, or without labels if it
/// is lower than two lines. Returns the width of the widest label in pixels.
float color_bar(const Ui& ui, ImVec2 min, float bottom, const HeatmapStyle& style, const ColorBarOptions& options = {});

/// A small bar that lies in a line of text, with its ends labelled beside it; `at` is its upper left corner. Returns its width in pixels.
float lying_color_bar(const Ui& ui, ImVec2 at, const HeatmapStyle& style, const ColorBarOptions& options = {});

/// Makes the end labels of such a bar draggable; dragging fixes the range. True if the options changed.
bool drag_color_ends(const Ui& ui, const char* id, ImVec2 min, float bottom, const HeatmapStyle& shown, ColorOptions& options,
                     const ColorBarOptions& bar = {});

/// A switch at the end of the menu.
struct MenuSwitch {
    const char* label;
    bool* on;
    std::string_view caption{};
    ControlNotes notes{};
};

/// A link that shows the current range, or in its place what is `told` of it, and opens the menu for range, scale and colours, and further
/// switches. True if the options changed.
bool color_menu(const Ui& ui, const char* id, ColorOptions& options, bool probability, const HeatmapStyle& shown,
                std::span<const MenuSwitch> switches = {}, bool capped = false, std::string_view of = {}, std::string_view told = {});

}  // namespace attn::app
