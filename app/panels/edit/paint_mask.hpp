#pragma once
/// Painting the mask: clicks and drags over an attention map forbid its cells or allow them again.

#include "app/panels/kit/panel_context.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/widgets/heatmap_view.hpp"

namespace attn::app {

/// Starts painting, on a map of the Step view, or ends it.
void toggle_painting(PanelContext& context);
/// Paints from the cell that the stroke reached last to `at`; the first cell of a stroke determines whether it forbids or allows. Cells
/// that other masks forbid are left alone.
void paint(PanelContext& context, const Matrix& matrix, const HeatmapCell& at);
/// To be called in every frame; a stroke is one undo step.
void end_stroke(ViewState& view);

}  // namespace attn::app
