#pragma once
/// Turns the view to where a lesson or an example wants to look.

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/state/view_state.hpp"
#include "app/session/document/look.hpp"
#include "app/session/document/presets.hpp"

namespace attn::app {

/// Opens one of a preset's sentences, counted from 0, at the place worth looking at; resets everything chosen for the previous document.
void open_example(PanelContext& context, const Preset& preset, std::size_t sentence = 0);
/// Resets the view for another example, document or model. It opens at `look`, or at the nearest existing stage.
void look_afresh(ViewState& view, const Look& look);
/// To be called once per frame: applies a pending look once its numbers are available, and shows the text that the stage belongs to.
void keep_up_with_opening(PanelContext& context);

/// What the view shows, for turn_to() to show it again.
Look look_of(const ViewState& view);
/// Applies everything except panes and settings.
void turn_to(ViewState& view, const Look& look);

}  // namespace attn::app
