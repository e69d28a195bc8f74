#pragma once
/// The shown recording, in place of the settings of a model.

#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Which step and which attentions are shown, and what their code shows. Requires that the document shows a recording.
void draw_recording(PanelContext& context);
/// "step 50".
std::string recording_value(const PanelContext& context);

}  // namespace attn::app
