#pragma once
/// Turning the view to what a lesson or an example wants to be seen.

#include "app/panels/panel_context.hpp"
#include "app/panels/view_state.hpp"
#include "app/session/document/look.hpp"
#include "app/session/document/presets.hpp"

namespace attn::app {

/// Opens one of an example's sentences, counted from 0, where it is worth looking at; nothing stays that was meant for what was there
/// before.
void open_example(PanelContext& context, const Preset& preset, std::size_t sentence = 0);
/// For another example, document or model: as if nothing had been looked at yet. It opens at `look`, or at the nearest stage that it has.
void look_afresh(ViewState& view, const Look& look);
/// Once a frame: goes to where something was opened when its numbers are there, and shows the text that the stage is about.
void keep_up_with_opening(PanelContext& context);

/// All but the panes and the settings.
void turn_to(ViewState& view, const Look& look);

}  // namespace attn::app
