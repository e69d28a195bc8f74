#include "engine/explain/packed_words.hpp"

#include <fmt/format.h>

#include "engine/tensor/blocks.hpp"

namespace attn {

std::string packed_words(const MatrixView& matrix, std::int64_t row, std::int64_t column) {
    const std::optional<BlockKind> kind = block_kind(matrix.kind);
    if (!kind) return "";
    const BlockFormat& format = block_format(*kind);
    const std::int64_t place = matrix.first + (matrix.transposed ? column * matrix.stride + row : row * matrix.stride + column);
    const BlockNumber number = block_number(*kind, static_cast<const std::byte*>(matrix.data), place);
    // Every row in a file begins with a block.
    std::string words = fmt::format("{}, block {} of its row: {:.4g}", format.name, place % matrix.stride / format.numbers, number.scale);
    if (format.group < format.numbers) words += fmt::format(" × {}", number.factor);
    words += fmt::format(" × {}", number.quantum);
    if (number.least_factor < 0) words += fmt::format(" + {:.4g}", number.least);
    else if (number.least_factor > 0) words += fmt::format(" − {:.4g} × {}", number.least, number.least_factor);
    return words;
}

std::string packed_words(const Trace<float>& trace, const CellRef& cell) {
    if (cell.parameter.empty() || trace.parameters == nullptr) return "";
    const ParameterPlace place = trace.parameters->layout().place(cell.parameter);
    const MatrixView view = place.whole == nullptr ? MatrixView() : trace.parameters->view(place);
    // Vectors are never block-quantized.
    return !view || place.whole->shape.rank() != 2 ? "" : packed_words(view, cell.index[0], cell.index[1]);
}

}  // namespace attn
