#pragma once
/// The Write view of a model that writes nothing on but fills in hidden words: which are hidden, and what it would put there.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// The shown model is an encoder.
bool reads_both_ways(const PanelContext& context);
/// The hidden word that is looked at, by its position: the chosen query where that is one, else the first.
std::optional<std::int64_t> hidden_position(const PanelContext& context);

void draw_fill_in_view(PanelContext& context);

}  // namespace attn::app
