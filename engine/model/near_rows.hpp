#pragma once
/// Which rows of a table, such as token embeddings, point in nearly the same direction as one of them.

#include <cstdint>
#include <stop_token>
#include <vector>

#include "engine/tensor/matrix_view.hpp"

namespace attn {

struct NearRow {
    std::int64_t row = 0;
    double cosine = 0;  ///< x·y ÷ (|x| |y|)
};

/// The `most` other rows of `table` [V,C] with the largest cosine to `row`: largest first, the lower index if equal. Rows that are 0 or not
/// finite have no direction: they are left out, and none is near them. Throws Error for a row outside the table, Cancelled once `stop` is
/// requested.
std::vector<NearRow> near_rows(const MatrixView& table, std::int64_t row, std::size_t most, const std::stop_token& stop = {});

}  // namespace attn
