#pragma once
/// The attentions of the shown recording, and what their code shows.

#include "app/panels/kit/panel_context.hpp"
#include "app/session/values/recording_report.hpp"

namespace attn::app {

/// Each attention with the layer that stands for it, its findings in this font, and what could not be followed.
void draw_recorded_attentions(PanelContext& context, const RecordingReport& report, ImFont* font);

/// Whether a recording is shown that did not come with the program.
bool shows_own_recording(const PanelContext& context);

}  // namespace attn::app
