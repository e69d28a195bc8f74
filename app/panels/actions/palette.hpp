#pragma once
/// The command palette: all actions by name.

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
};
/// The palette's list: matching available actions, best first; recent ones first if nothing is typed.
std::vector<PaletteLine> palette_lines(const PanelContext& context, std::span<const Action> actions);
/// The names that are least unlike what was typed.
std::vector<std::string> nearest_names(std::string_view typed, std::span<const Action> actions);

void draw_palette(PanelContext& context);

}  // namespace attn::app
