#pragma once
/// Turning the view to what a lesson or an example wants to be seen.

#include "app/panels/panel_context.hpp"
#include "app/panels/view_state.hpp"
#include "app/session/look.hpp"
#include "app/session/presets.hpp"

namespace attn::app {

/// Opens one of an example's sentences, counted from 0, where it is worth looking at.
void open_example(PanelContext& context, const Preset& preset, std::size_t sentence);

/// All but the panes and the settings.
void turn_to(ViewState& view, const Look& look);

}  // namespace attn::app
