#pragma once
/// How the numbers of a panel's matrix become colours: the person's options and the stage's range put together.

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Over how many keys a row of weights is spread, which an automatic range goes by; of a reduced map over how many blocks, which show the
/// largest weight of each. 0 for what is no map of weights.
std::int64_t keys_of(const Matrix& matrix);
/// Style of a matrix that shows (a part of) a recorded stage: its range is the whole stage's, so that equal colours are equal
/// numbers in every head and sequence.
HeatmapStyle style_of(const PanelContext& context, const Matrix& matrix, const StageId& id);
/// Style of any other matrix (a parameter, a difference) from its own range; of a stage's gradients from those of the whole stage.
HeatmapStyle style_of(PanelContext& context, const Matrix& matrix);

}  // namespace attn::app
