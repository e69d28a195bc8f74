#pragma once
/// The sheet that opens a file: places, the folder's contents, and what the chosen file is.

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_open_sheet(PanelContext& context);

}  // namespace attn::app
