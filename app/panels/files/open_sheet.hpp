#pragma once
/// The sheet for opening a file: places, the folder's contents, and a preview.

#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_open_sheet(PanelContext& context);
/// Handles a path that was chosen elsewhere like one chosen in the sheet.
void use_chosen_path(PanelContext& context, const std::string& path);

}  // namespace attn::app
