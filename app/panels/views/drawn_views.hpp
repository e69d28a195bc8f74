#pragma once
/// The views that are drawn from the shown state, and what stands in the pane at their right. Which belongs to which is said in
/// view_table.cpp.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// One stage as an equation.
void draw_step_view(PanelContext& context);
/// All heads of a layer.
void draw_heads_view(PanelContext& context);
/// All heads of all layers.
void draw_grid_view(PanelContext& context);
/// Attention as lines between tokens.
void draw_lines_view(PanelContext& context);
/// What each layer would say if it were the last one.
void draw_lens_view(PanelContext& context);
void draw_lens_cell(PanelContext& context);
/// How much each head, block or position matters, as a map and as a sorted list.
void draw_knock_out_view(PanelContext& context);
/// What the doctor finds.
void draw_doctor_view(PanelContext& context);
/// The arithmetic of the chosen cell, in the right pane.
void draw_inspector(PanelContext& context);
/// Statistics of the shown numbers, in the right pane.
void draw_histogram_section(PanelContext& context);

}  // namespace attn::app
