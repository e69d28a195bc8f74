#pragma once
/// How a file packs one of its weights, in words.

#include <cstdint>
#include <string>

#include "engine/explain/provenance.hpp"
#include "engine/tensor/matrix_view.hpp"

namespace attn {

/// "Q4_K, block 3 of its row: 0.02130 × 37 × 9 − 0.003400 × 12": the scale of the block, where groups have one the factor of the group,
/// the quantum, and what is taken away or, in Q4_1 and Q5_1, added. Empty for a number that is stored by itself. Blocks count from 0, in
/// the row of the file, which is an output of a map. The cell is not checked.
std::string packed_words(const MatrixView& matrix, std::int64_t row, std::int64_t column);
/// The same of a cell of a trace; empty for a cell of a stage.
std::string packed_words(const Trace<float>& trace, const CellRef& cell);

}  // namespace attn
