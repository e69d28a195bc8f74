#pragma once
/// Lines that views have in common: a heading, and a row of label, bar and number.

#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Draws a view's first line, from `at` to `right`: its title, and in small type what it shows, of which parts between " · " go if there
/// is no room.
void draw_view_heading(const PanelContext& context, ImVec2 at, float right, std::string_view title, std::string_view detail);

/// "sat  ▮▮▮▮    0.131".
struct Figure {
    std::string_view label;
    Color ink{};       ///< of the label
    double share = 0;  ///< length of the bar, 0 to 1; none if it is not a number
    Color fill{};      ///< of the bar
    std::string number;
};
/// Widths in logical pixels.
struct FigureLook {
    float label = 96, number = 54;
};
/// Draws it in a line of this width; does not move the cursor.
void draw_figure(const PanelContext& context, ImVec2 at, float width, const Figure& figure, const FigureLook& look = {});
/// Where its bar is.
struct FigureBar {
    ImVec2 min, max;
};
FigureBar bar_of_figure(const PanelContext& context, ImVec2 at, float width, const FigureLook& look = {});

}  // namespace attn::app
