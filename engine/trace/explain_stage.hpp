#pragma once
/// The arithmetic of each kind of stage; explain() chooses among these. Each fills everything but `recorded`.

#include "engine/trace/trace_cells.hpp"

namespace attn::provenance {

using Index = TraceCells::Index;

// explain_embedding.cpp
Provenance tokens(const TraceCells& cells, const StageId& id, const Index& index);
Provenance token_embedding(const TraceCells& cells, const StageId& id, const Index& index);
Provenance position_embedding(const TraceCells& cells, const StageId& id, const Index& index);
Provenance embedding(const TraceCells& cells, const StageId& id, const Index& index);
Provenance logits(const TraceCells& cells, const StageId& id, const Index& index);
Provenance probabilities(const TraceCells& cells, const StageId& id, const Index& index);

// explain_attention.cpp
Provenance projection(const TraceCells& cells, const StageId& id, const Index& index);  ///< q, k, v
Provenance scores(const TraceCells& cells, const StageId& id, const Index& index);
Provenance scaled(const TraceCells& cells, const StageId& id, const Index& index);
Provenance masked(const TraceCells& cells, const StageId& id, const Index& index);
Provenance weights(const TraceCells& cells, const StageId& id, const Index& index);
Provenance dropped(const TraceCells& cells, const StageId& id, const Index& index);
Provenance context(const TraceCells& cells, const StageId& id, const Index& index);
Provenance concat(const TraceCells& cells, const StageId& id, const Index& index);
Provenance attention_out(const TraceCells& cells, const StageId& id, const Index& index);

// explain_block.cpp
Provenance norm(const TraceCells& cells, const StageId& id, const Index& index);
Provenance residual(const TraceCells& cells, const StageId& id, const Index& index);
Provenance ffn_linear(const TraceCells& cells, const StageId& id, const Index& index);  ///< ffn_hidden, ffn_out
Provenance ffn_activation(const TraceCells& cells, const StageId& id, const Index& index);

// explain_edit.cpp
/// Tells what the edits made of a cell whose computation `out` explains.
void explain_edits(Provenance& out, const TraceCells& cells, const StageId& id, const Index& index);

// --- shared -------------------------------------------------------------------------------------------------------

/// "layers.0.", "encoder.layers.1."; "", "encoder." outside the layers.
std::string parameter_prefix(const StageId& id);
/// The only input of a stage, or the one at `which`.
StageId input_of(const TraceCells& cells, const StageId& id, std::size_t which = 0);
Operand constant(std::string label, double value);
/// A row a x b.
Term product(std::string label, Operand a, Operand b);
/// A row that passes one operand on.
Term single(std::string label, Operand a);
double sum_of(const std::vector<Term>& terms);
std::string number(std::int64_t i);
/// Σ of row (…, i) of `input` times column `column` of a weight [in,out], plus the bias where there is one.
/// `row` is the input's index with the running axis left at 0.
void add_linear(Provenance& out, const TraceCells& cells, const StageId& input, const Index& row, int running_axis,
                const std::string& parameter, std::int64_t column);

}  // namespace attn::provenance
