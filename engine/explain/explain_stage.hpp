#pragma once
/// Explains the arithmetic of each operation, for explain(). Each function fills in everything but `recorded`.

#include "engine/explain/trace_cells.hpp"

namespace attn::provenance {

using Index = TraceCells::Index;

// explain_embedding.cpp
Provenance tokens(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance embed(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance positions(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance segments(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance probabilities(const TraceCells& cells, const PlanNode& node, const Index& index);

// explain_linear.cpp: also of LinearByReshape
Provenance linear(const TraceCells& cells, const PlanNode& node, const Index& index);

// explain_rotation.cpp
Provenance rotate(const TraceCells& cells, const PlanNode& node, const Index& index);

// explain_attention.cpp
Provenance scores(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance scale(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance bias(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance mask(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance softmax(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance mix(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance join_heads(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance softmax_over_queries(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance softmax_then_mask(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance join_by_reshape(const TraceCells& cells, const PlanNode& node, const Index& index);

// explain_dropout.cpp
Provenance add(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance dropout(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance dropout_left_on(const TraceCells& cells, const PlanNode& node, const Index& index);

// explain_block.cpp
Provenance norm(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance given(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance pass_on(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance activate(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance multiply(const TraceCells& cells, const PlanNode& node, const Index& index);
Provenance cap(const TraceCells& cells, const PlanNode& node, const Index& index);

// explain_edit.cpp
/// Adds what edits did to a cell whose computation `out` explains.
void explain_edits(Provenance& out, const TraceCells& cells, const StageId& id, const Index& index);

// --- shared -------------------------------------------------------------------------------------------------------

/// A stage's name in formulas.
/// "scores[3,1]"
std::string cell(const TraceCells& cells, const StageId& id, const Index& index);
Operand constant(std::string label, double value);
/// A term a x b.
Term product(std::string label, Operand a, Operand b);
/// A term that passes one operand on.
Term single(std::string label, Operand a);
double sum_of(const std::vector<Term>& terms);
std::string number(std::int64_t i);

}  // namespace attn::provenance
