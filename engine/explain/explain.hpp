#pragma once
/// Explains cells: the arithmetic behind one, and where its number goes.

#include <vector>

#include "engine/explain/provenance.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Explains a cell of any stage of any model, or of a parameter. Throws Error if the trace has no such cell. For token_embedding the terms
/// show that the lookup equals the product of a one-hot row and the table.
/// `rows`: unreduced rows of attention maps that the trace does not hold (see ReducedMap); those of the cell's position suffice.
template <class Scalar>
Provenance explain(const Trace<Scalar>& trace, const CellRef& cell, const std::vector<ReducedMap>& rows = {});

/// A cell of every stage that reads this cell's stage, nearest first and at the same position if possible (q[6,0] leads to scores[6,6]);
/// empty if none does. Throws Error if the trace has no such cell.
template <class Scalar>
std::vector<Operand> where_it_goes(const Trace<Scalar>& trace, const CellRef& cell, const std::vector<ReducedMap>& rows = {});

}  // namespace attn
