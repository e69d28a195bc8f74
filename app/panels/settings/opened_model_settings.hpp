#pragma once
/// Information about a published model, shown in place of the model settings.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Requires that the document has a published model.
void draw_opened_model(PanelContext& context);

}  // namespace attn::app
