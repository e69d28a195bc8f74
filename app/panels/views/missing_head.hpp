#pragma once
/// What the answer would be without the head that is shown.

#include "app/panels/kit/panel_context.hpp"
#include "engine/explain/provenance.hpp"

namespace attn::app {

/// How likely the model's answer at the cell's query is with and without the cell's head, and which head is missed most. Nothing for
/// random weights, which have learned nothing, and for large models, where measuring takes long: Knock-out does that on demand.
void draw_missing_head(PanelContext& context, const CellRef& cell);

}  // namespace attn::app
