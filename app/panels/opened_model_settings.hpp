#pragma once
/// What there is to know of a published model, in place of the settings of one's own.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Of the document's model, which there has to be.
void draw_opened_model(PanelContext& context);

}  // namespace attn::app
