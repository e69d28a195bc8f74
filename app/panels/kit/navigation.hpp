#pragma once
/// Navigation through stages, layers and heads. Keeps the view pointing at something that exists.

#include <optional>

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/state/view_state.hpp"
#include "engine/explain/provenance.hpp"

namespace attn::app {

/// Adjusts stage, layer, head and sequence of the view to what exists in the trace, keeping as much as possible.
void keep_view_valid(ViewState& view, const Structure& structure);

/// Moves a query or key selected beyond the end of the shown stage's text to its last token. While a text is typed, see
/// SelectionWhileTyping.
void keep_selection_in_text(ViewState& view, const Structure& structure);

/// Moves to the next (+1) or previous (-1) stage in computation order. Returns false at the ends.
bool step_stage(ViewState& view, const Structure& structure, int direction);
void go_to_first_stage(ViewState& view, const Structure& structure);
void go_to_last_stage(ViewState& view, const Structure& structure);

/// Moves to the same stage of the next (+1) or previous (-1) block if it exists there, otherwise to the block's first. Stays at the ends.
void step_block(ViewState& view, const Structure& structure, int direction);

/// Moves to the same stage of another layer, if it exists there.
void go_to_layer(ViewState& view, const Structure& structure, int layer);

/// The number of sequences in the batch, and of heads in the current stage.
std::int64_t batch_size(const Structure& structure);
std::int64_t head_count(const Structure& structure);

/// Selects a query and a key, so that arithmetic is shown right away.
void select_first_cell(ViewState& view, const Structure& structure);
/// The same for a document that was just opened. Of a published model, the query is the hidden word, or the last token, after which it
/// predicts the next one.
void select_opening_cell(ViewState& view, const Document& document, const Snapshot& snapshot);

/// The selected cell of the current stage. Unselected indices get a default (the first, or the token's own position). None if no index on
/// the stage's axes is selected or the selection is out of range.
std::optional<CellRef> selected_cell(const ViewState& view, const Structure& structure, const AxisSelection& selection);

/// Layer and head of a cell, "L5 H3" or "cross L0 H1"; "" for stages without heads.
std::string head_name(const Structure& structure, const CellRef& cell);

/// Whether what is shown is where the trail of followed cells has led to, or a place that one went back to.
bool is_on_trail(const ViewState& view);
/// Before the next frame is drawn, goes to a cell as go_to_cell() does: for what is clicked while a frame is drawn.
void follow_to(ViewState& view, const CellRef& cell);
/// Goes to what was clicked in the frame before, if anything was.
void keep_up_with_trail(ViewState& view, const Structure& structure);
/// Goes back along the trail of cells that were followed (-1), or forth again (+1). Stays at its ends.
void walk_trail(ViewState& view, const Structure& structure, int direction);

/// Opens a head's stage in Step, from where the trail leads back.
void open_in_step(ViewState& view, const StageId& stage, std::int64_t head);
/// Selects a cell of a recorded stage: stage, head, sequence and indices. Parameter cells cannot be selected. The way there is a step of
/// the trail.
void go_to_cell(ViewState& view, const Structure& structure, const CellRef& cell);

}  // namespace attn::app
