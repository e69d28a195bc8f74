#pragma once
/// Moving through the stages, layers and heads of a trace without ever pointing at something that is not there.

#include <optional>

#include "app/panels/panel_context.hpp"
#include "app/panels/view_state.hpp"
#include "engine/explain/provenance.hpp"

namespace attn::app {

/// Makes stage, layer, head and sequence of the view exist in the trace: keeps as much of them as it can.
void keep_view_valid(ViewState& view, const Trace<float>& trace);

/// Moves to the next (+1) or previous (-1) stage in the order of computation; stays at the ends. False when it could not move.
bool step_stage(ViewState& view, const Trace<float>& trace, int direction);
void go_to_first_stage(ViewState& view, const Trace<float>& trace);
void go_to_last_stage(ViewState& view, const Trace<float>& trace);

/// Moves to the same stage of the next (+1) or previous (-1) block of the model where that has it, else to the block's own; stays at the
/// ends.
void step_block(ViewState& view, const Trace<float>& trace, int direction);

/// Shows the same stage of another layer, where that layer has it.
void go_to_layer(ViewState& view, const Trace<float>& trace, int layer);

/// Sequences of the batch and heads that the current stage has.
std::int64_t batch_size(const Trace<float>& trace);
std::int64_t head_count(const Trace<float>& trace);

/// Locks a query and a key, so that a first look already shows arithmetic.
void select_first_cell(ViewState& view, const Trace<float>& trace);

/// The cell of the current stage that the selection points at. Indices never chosen take a default (the first dimension, the
/// token's own position); nothing when the selection says nothing about this stage or points outside of it.
std::optional<CellRef> selected_cell(const ViewState& view, const Trace<float>& trace, const AxisSelection& selection);

/// Layer and head of a cell, "L5 H3" or "cross L0 H1"; "" where its stage has no heads.
std::string head_name(const Trace<float>& trace, const CellRef& cell);

/// Goes to the cell of a recorded stage: stage, head, sequence and the indices of its axes. A parameter cannot be gone to.
void go_to_cell(ViewState& view, const Trace<float>& trace, const CellRef& cell);

}  // namespace attn::app
