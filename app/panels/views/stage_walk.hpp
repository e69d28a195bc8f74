#pragma once
/// Walking through a model stage by stage, with the steps from the text to its pieces where the tokenizer has them.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// To the next (+1) or previous (-1) of all stages; stays at the ends.
void walk_stages(PanelContext& context, int direction);
/// Goes round the steps from the text to its pieces, if the first stage is shown and has them.
void go_round_text(PanelContext& context);
/// To the next or previous stage, but from station to station: see app/panels/kit/stations.hpp.
void walk_stations(PanelContext& context, int direction);

}  // namespace attn::app
