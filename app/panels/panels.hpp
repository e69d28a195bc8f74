#pragma once
/// The panels of the frame. Each draws into the current ImGui child window and appends what the person asks for to context.commands.

#include "app/panels/panel_context.hpp"

namespace attn::app {

void draw_top_bar(PanelContext& context);
void draw_text_row(PanelContext& context);
/// Opens the field in which the shown sequence is edited.
void start_text_edit(PanelContext& context);
void draw_settings(PanelContext& context);
void draw_step_view(PanelContext& context);
void draw_heads_view(PanelContext& context);
void draw_grid_view(PanelContext& context);
void draw_inspector(PanelContext& context);
void draw_stage_strip(PanelContext& context);
void draw_help_sheet(PanelContext& context);

}  // namespace attn::app
