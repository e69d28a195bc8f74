#pragma once
/// Describes how a file stores a block-quantized weight.

#include <cstdint>
#include <string>

#include "engine/explain/provenance.hpp"
#include "engine/tensor/matrix_view.hpp"

namespace attn {

/// "Q4_K, block 3 of its row: 0.02130 × 37 × 9 − 0.003400 × 12": the block's scale, the group's factor if groups have one, the quantum, and
/// the minimum that is subtracted (in Q4_1 and Q5_1 added). Empty if the number is not block-quantized. Blocks count from 0 in a row of the
/// file, which is an output of a map. The cell is not checked.
std::string packed_words(const MatrixView& matrix, std::int64_t row, std::int64_t column);
/// The same for a cell of a parameter; empty for a cell of a stage.
std::string packed_words(const Trace<float>& trace, const CellRef& cell);

}  // namespace attn
