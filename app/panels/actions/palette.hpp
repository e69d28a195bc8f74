#pragma once
/// The command palette: all actions by name.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "app/panels/actions/actions.hpp"

namespace attn::app {

/// How well a name matches what was typed; larger is better, none if a word does not match. Letters may be skipped ("tcm" finds "toggle
/// causal mask"), but widely scattered letters do not match. Case-insensitive.
std::optional<int> fuzzy_score(std::string_view typed, std::string_view name);

/// The palette's list: matching available actions, best first; recent ones first if nothing is typed.
std::vector<const Action*> palette_lines(const PanelContext& context, std::span<const Action> actions);

void draw_palette(PanelContext& context);

}  // namespace attn::app
