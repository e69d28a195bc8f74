#include "app/session/numbers/matrix.hpp"

#include <utility>

#include "app/session/numbers/number_keys.hpp"

namespace attn::app {

std::optional<CellRef> Matrix::cell(std::int64_t row, std::int64_t col) const {
    if (!origin) return std::nullopt;
    CellRef ref = *origin;
    if (row_index >= 0) ref.index[static_cast<std::size_t>(row_index)] += row;
    if (col_index >= 0) ref.index[static_cast<std::size_t>(col_index)] += col;
    return ref;
}

std::optional<std::pair<std::int64_t, std::int64_t>> Matrix::place_of(const CellRef& wanted) const {
    if (!origin || origin->stage != wanted.stage || origin->parameter != wanted.parameter) return std::nullopt;
    const auto along = [&](int index) {
        return index < 0 ? 0 : wanted.index[static_cast<std::size_t>(index)] - origin->index[static_cast<std::size_t>(index)];
    };
    const std::pair at{along(row_index), along(col_index)};
    if (at.first < 0 || at.first >= data.rows || at.second < 0 || at.second >= data.cols) return std::nullopt;
    return cell(at.first, at.second) == wanted ? std::optional(at) : std::nullopt;
}

Matrix transposed(const Matrix& matrix, std::string symbol) {
    if (matrix.in_blocks()) return {};
    Matrix out = matrix;
    out.symbol = std::move(symbol);
    out.name += " transposed";
    out.is_transposed = !matrix.is_transposed;
    std::swap(out.row_axis, out.col_axis);
    std::swap(out.row_index, out.col_index);
    std::swap(out.data.rows, out.data.cols);
    std::swap(out.data.row_stride, out.data.col_stride);
    std::swap(out.edited.row_stride, out.edited.col_stride);
    out.data.key = mix_key(matrix.data.key, KeyOf::Transposed);
    out.data.keep = nullptr;
    return out;
}

void mark_without_first_key(Matrix& weights) { weights.name += " without the first key"; }

void mark_norm_weighted(Matrix& weights) {
    weights.name += " × value norm";
    weights.symbol += " ‖v W_O‖";
    weights.is_norm_weighted = true;
}

void mark_difference(Matrix& now) {
    now.symbol = "Δ " + now.symbol;
    now.name += " difference";
    now.is_difference = true;
    now.is_of_weights = now.content == Content::Probability;
    now.content = Content::Signed;
}

Matrix place_of_row_sums(const Matrix& matrix) {
    Matrix place;
    place.symbol = "Σ";
    place.name = matrix.name + " row sums";
    place.row_axis = matrix.row_axis;
    place.col_axis = Axis::N;
    place.content = Content::Probability;
    place.data.rows = matrix.data.rows;
    place.data.cols = 1;
    return place;
}

Matrix place_of_token_map(std::int64_t positions, std::string symbol) {
    Matrix place;
    place.name = symbol;
    place.symbol = std::move(symbol);
    place.row_axis = Axis::T;
    place.col_axis = Axis::S;
    place.content = Content::Probability;
    place.data.rows = place.data.cols = positions;
    return place;
}

bool is_small(const Matrix& matrix) { return matrix.data.rows * matrix.data.cols <= kFewCells; }

}  // namespace attn::app
