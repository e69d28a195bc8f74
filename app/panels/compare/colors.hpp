#pragma once
/// Chooses heatmap styles for a panel's matrices from the user's colour options and the stage's range.

#include "app/panels/kit/panel_context.hpp"
#include "app/session/numbers/number_desk.hpp"

namespace attn::app {

/// The number of keys (in a reduced map: blocks) in a row of attention weights, which determines the automatic range. 0 for other matrices.
std::int64_t keys_of(const Matrix& matrix);
/// The style of (part of) a recorded stage, with the range of the whole stage, so that equal colours are equal numbers in every head and
/// sequence.
HeatmapStyle style_of(const PanelContext& context, const Matrix& matrix, const StageId& id);
/// The style of any other matrix (a parameter, a difference), with its own range; gradients of a stage use the range of the whole stage.
HeatmapStyle style_of(PanelContext& context, const Matrix& matrix);

}  // namespace attn::app
