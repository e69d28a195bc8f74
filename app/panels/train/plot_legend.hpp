#pragma once
/// Legends beside plots, where no curve runs, and the marks above them.

#include <optional>
#include <span>
#include <string>

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/dashes.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/line_plot.hpp"

namespace attn::app {

struct LegendEntry {
    Color color;
    Dash dash = Dash::Solid;
    std::string name, value;
    std::string_view tooltip{};  ///< "": it does nothing
    std::uint64_t key = 0;       ///< unlike those of other entries
};

/// Height of a line of a legend in logical pixels.
inline constexpr float kLegendLine = 17;

/// Draws an entry: a piece of its line, its name and, right-aligned at `at.x + width`, its value.
Item draw_legend_entry(PanelContext& context, const LegendEntry& entry, ImVec2 at, float width);
/// The width that an entry needs if its value has `digits` characters.
float legend_width(const PanelContext& context, const LegendEntry& entry, int digits);

/// Above a plot: where the shown run branched off and where its settings were changed, each with a line down through the plot; a click goes
/// there. The plot has to leave kMarkRoom free above it.
inline constexpr float kMarkRoom = 8;
void draw_plot_marks(PanelContext& context, const PlotArea& area);

}  // namespace attn::app
