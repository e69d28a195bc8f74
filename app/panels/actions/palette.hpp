#pragma once
/// The command palette: all actions by name.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/actions/actions.hpp"

namespace attn::app {

struct PaletteLine {
    const Action* action = nullptr;
    /// Whether Enter may run it at once. Not one that discards something, unless its own words were typed in full.
    bool sure = true;
    bool can_run = true;
};
/// What is listed for a query.
struct PaletteList {
    std::vector<Action> all;
    std::uint64_t serial = 0;  ///< of the snapshot that they were made for
    std::string query;
    std::vector<PaletteLine> lines;    ///< of `all`
    std::vector<std::string> nearest;  ///< where there are no lines
};
/// The palette's list: matching actions, best first, also those that cannot run now. If nothing is typed, those that can, recent ones
/// first.
std::vector<PaletteLine> palette_lines(const PanelContext& context, std::span<const Action> actions);
/// The names that are least unlike what was typed.
std::vector<std::string> nearest_names(std::string_view typed, std::span<const Action> actions);

/// Draws the palette if it is open, and afterwards for a moment what a line has switched or discarded.
void draw_palette(PanelContext& context);

}  // namespace attn::app
