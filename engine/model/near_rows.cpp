#include "engine/model/near_rows.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/tensor/error.hpp"
#include "engine/tensor/matrix.hpp"

namespace attn {

std::vector<NearRow> near_rows(const MatrixView& table, std::int64_t row, std::size_t most, const std::stop_token& stop) {
    if (row < 0 || row >= table.rows)
        throw Error("there is no row " + std::to_string(row) + " in a table of " + std::to_string(table.rows));
    constexpr std::int64_t kTogether = 256;
    RowMajor<double> some(kTogether, table.columns), one(1, table.columns);
    copy_numbers(table.rows_from(row, 1), one.data());
    const double length = one.row(0).norm();
    std::vector<NearRow> near;
    if (!(length > 0) || !std::isfinite(length)) return near;
    for (std::int64_t first = 0; first < table.rows; first += kTogether) {
        if (stop.stop_requested()) throw Cancelled();
        const std::int64_t count = std::min(kTogether, table.rows - first);
        copy_numbers(table.rows_from(first, count), some.data());
        for (std::int64_t i = 0; i < count; ++i) {
            const double cosine = some.row(i).dot(one.row(0)) / (some.row(i).norm() * length);
            if (first + i != row && std::isfinite(cosine)) near.push_back({first + i, cosine});
        }
    }
    const auto nearer = [](const NearRow& a, const NearRow& b) { return a.cosine > b.cosine || (a.cosine == b.cosine && a.row < b.row); };
    most = std::min(most, near.size());
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(most), near.end(), nearer);
    near.resize(most);
    return near;
}

}  // namespace attn
