#include "engine/doctor/beside.hpp"

#include <algorithm>
#include <cmath>

#include "engine/doctor/rotation.hpp"

namespace attn::doctor {
namespace {

/// The largest map that is kept, which is around the cell.
constexpr std::int64_t kMostLines = 64;

/// Whether what was recomputed is what was compared, which may have assumed more than the file says.
bool is_the_one_compared(const Estimate& expected, const Comparison& comparison) {
    const double again = expected.value[static_cast<std::size_t>(comparison.first)];
    if (std::isnan(again) || std::isnan(comparison.expected)) return std::isnan(again) && std::isnan(comparison.expected);
    return again == comparison.expected || std::abs(again - comparison.expected) <= 1e-9 * std::abs(comparison.expected);
}

/// The first of up to kMostLines lines around one of them.
std::int64_t first_shown(std::int64_t line, std::int64_t count) {
    return std::clamp<std::int64_t>(line - kMostLines / 2, 0, std::max<std::int64_t>(count - kMostLines, 0));
}

}  // namespace

Beside beside(const Sequence& sequence, Part part, const Judgement& judgement, const Comparison& comparison) {
    const std::vector<std::int64_t> sizes = sequence.sizes(part);
    const std::int64_t cols = sizes.back(), rows = sizes[sizes.size() - 2], cell = comparison.first, matrix = cell / (rows * cols);
    Beside out{.recorded = comparison.recorded, .expected = comparison.expected, .row = cell / cols % rows, .col = cell % cols};
    const Rounding rounding = rounding_of(sequence);
    Sequence turned = sequence;
    turned.rotation = visible_rotation(sequence, rounding);
    SharedProducts shared;
    const auto expected = as_follows(turned, part, correct_recipe(turned, judgement.intended), rounding, shared);
    const std::vector<double>& recorded = sequence[part];
    if (expected == nullptr || expected->value.size() != recorded.size() || !is_the_one_compared(*expected, comparison)) return out;
    out.first_row = first_shown(out.row, rows);
    out.first_col = first_shown(out.col, cols);
    out.rows = std::min(rows, kMostLines);
    out.cols = std::min(cols, kMostLines);
    for (std::int64_t row = out.first_row; row < out.first_row + out.rows; ++row)
        for (std::int64_t col = out.first_col; col < out.first_col + out.cols; ++col) {
            const auto at = static_cast<std::size_t>((matrix * rows + row) * cols + col);
            out.recorded_map.push_back(static_cast<float>(recorded[at]));
            out.expected_map.push_back(static_cast<float>(expected->value[at]));
        }
    return out;
}

}  // namespace attn::doctor
