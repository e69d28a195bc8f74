#pragma once
/// What the doctor finds.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_doctor_view(PanelContext& context);

}  // namespace attn::app
