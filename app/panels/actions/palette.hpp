#pragma once
/// The command palette: every action by its name.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "app/panels/actions/actions.hpp"

namespace attn::app {

/// How well a name fits what was typed, larger is better; nothing when a word of it is not in the name. Letters may be left out:
/// "tcm" finds "toggle causal mask"; letters scattered over a name do not find it. Upper and lower case are the same.
std::optional<int> fuzzy_score(std::string_view typed, std::string_view name);

/// What the palette lists: actions that can be run and fit, the best first; with nothing typed the recent ones first.
std::vector<const Action*> palette_lines(const PanelContext& context, std::span<const Action> actions);

void draw_palette(PanelContext& context);

}  // namespace attn::app
