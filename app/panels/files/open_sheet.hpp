#pragma once
/// The sheet that opens a file: places, the folder's contents, and what the chosen file is.

#include <string>

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_open_sheet(PanelContext& context);
/// What the sheet does with a path, chosen elsewhere.
void use_chosen_path(PanelContext& context, const std::string& path);

}  // namespace attn::app
