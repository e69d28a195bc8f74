#include "engine/doctor/dropout_evidence.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/doctor/keep_patterns.hpp"

namespace attn::doctor {
namespace {

constexpr double kSmallWeight = 1e-3;

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// A row of the context as a sum of weighted value rows, some of which may have been dropped.
struct Row {
    std::vector<std::vector<double>> terms;  ///< weight times value row, for each key that matters
    std::vector<double> target, slack;
};

double size_of(const std::vector<double>& term) {
    double sum = 0;
    for (const double x : term) sum += x * x;
    return std::sqrt(sum);
}

/// Whether multiplying the terms by `factors` gives the context row.
bool reproduces(const Row& row, const std::vector<double>& factors) {
    for (std::size_t d = 0; d < row.target.size(); ++d) {
        double sum = 0;
        for (std::size_t s = 0; s < row.terms.size(); ++s) sum += factors[s] * row.terms[s][d];
        if (!(std::fabs(sum - row.target[d]) <= row.slack[d])) return false;
    }
    return true;
}

/// Solves for the factors of the terms by least squares; nullopt if the terms are linearly dependent.
std::optional<std::vector<double>> solve(const Row& row) {
    const std::size_t n = row.terms.size();
    std::vector<double> sizes;  // normalizes the terms, so that small ones count as much as large ones
    for (const auto& term : row.terms) sizes.push_back(size_of(term));
    std::vector<std::vector<double>> a(n, std::vector<double>(n + 1, 0));
    for (std::size_t i = 0; i < n; ++i) {
        if (!(sizes[i] > 0)) return std::nullopt;
        for (std::size_t d = 0; d < row.target.size(); ++d) {
            const double x = row.terms[i][d] / sizes[i];
            for (std::size_t j = 0; j < n; ++j) a[i][j] += x * row.terms[j][d] / sizes[j];
            a[i][n] += x * row.target[d];
        }
    }
    for (std::size_t column = 0; column < n; ++column) {
        std::size_t pivot = column;
        for (std::size_t i = column; i < n; ++i)
            if (std::fabs(a[i][column]) > std::fabs(a[pivot][column])) pivot = i;
        if (!(std::fabs(a[pivot][column]) > 1e-7 * std::fabs(a[column][column]) + 1e-12)) return std::nullopt;
        std::swap(a[pivot], a[column]);
        for (std::size_t i = 0; i < n; ++i) {
            if (i == column) continue;
            const double share = a[i][column] / a[column][column];
            for (std::size_t j = column; j <= n; ++j) a[i][j] -= share * a[column][j];
        }
    }
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = a[i][n] / a[i][i] / sizes[i];
    return x;
}

/// Whether some subset of the terms, times `factor`, gives the target. Subsets are tried in Gray-code order, so only one term changes at a
/// time.
bool some_set_fits(const Row& row, double factor) {
    const std::size_t n = row.terms.size(), width = row.target.size();
    std::vector<double> sum(width, 0);
    std::uint64_t set = 0;
    for (std::uint64_t step = 0;; ++step) {
        bool fits = true;
        for (std::size_t d = 0; d < width && fits; ++d) fits = std::fabs(factor * sum[d] - row.target[d]) <= row.slack[d];
        if (fits) return true;
        if (step + 1 == (std::uint64_t{1} << n)) return false;
        const int flip = std::countr_zero(step + 1);
        set ^= std::uint64_t{1} << flip;
        const double sign = (set >> flip & 1) != 0 ? 1 : -1;
        for (std::size_t d = 0; d < width; ++d) sum[d] += sign * row.terms[static_cast<std::size_t>(flip)][d];
    }
}

/// The common factor of the terms that were kept, the others being dropped; 0 if all were dropped. nullopt if no factor gives the target,
/// or if there are too many terms to tell. With `unscaled` the factor can only be 1.
std::optional<double> common_factor(const Row& row, bool unscaled) {
    if (row.terms.size() > row.target.size()) return std::nullopt;
    std::optional<std::vector<double>> x = solve(row);
    if (!x) return std::nullopt;
    if (reproduces(row, std::vector<double>(x->size(), 0.0))) return 0;
    double largest = 0;
    for (std::size_t i = 0; i < x->size(); ++i)
        if ((*x)[i] > 0.5) largest = std::max(largest, size_of(row.terms[i]));
    std::vector<double> kept;
    for (std::size_t i = 0; i < x->size(); ++i)
        if ((*x)[i] > 0.5 && size_of(row.terms[i]) > 0.05 * largest) kept.push_back((*x)[i]);  // smaller terms are lost in rounding
    if (kept.empty()) return std::nullopt;
    const double factor = unscaled ? 1 : median(std::move(kept));
    for (double& each : *x) each = each > 0.5 ? factor : 0;
    return reproduces(row, *x) ? std::optional(factor) : std::nullopt;
}

/// Whether the row differs from the sum of all its terms times `factor`: something was dropped from it.
bool lacks_terms(const Row& row, double factor) { return !reproduces(row, std::vector<double>(row.terms.size(), factor)); }

std::vector<Row> rows_of(const std::vector<double>& context, const Estimate& weights, const Estimate& v, const Sequence& sizes,
                         const Rounding& rounding) {
    std::vector<Row> rows;
    const auto keys = static_cast<std::size_t>(sizes.keys), width = static_cast<std::size_t>(sizes.value_size);
    for (std::size_t row = 0; row < static_cast<std::size_t>(sizes.heads * sizes.queries); ++row) {
        const std::size_t head = row / static_cast<std::size_t>(sizes.queries);
        Row out;
        out.target.assign(context.begin() + static_cast<std::ptrdiff_t>(row * width),
                          context.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
        out.slack.assign(width, 1e-12);
        bool known = true;
        for (std::size_t s = 0; s < keys; ++s) {
            const double w = weights.value[row * keys + s], slack = weights.slack_at(row * keys + s);
            known = known && std::isfinite(slack);
            std::vector<double> term(width);
            for (std::size_t d = 0; d < width; ++d) {
                const double x = v.value[(head * keys + s) * width + d];
                term[d] = w * x;
                out.slack[d] += 4 * (slack * std::fabs(x) + (6 * rounding.unit + 1e-6 * rounding.unit) * std::fabs(w * x));
            }
            if (w > slack) out.terms.push_back(std::move(term));
        }
        if (known && !out.terms.empty()) rows.push_back(std::move(out));
    }
    return rows;
}

}  // namespace

DropoutEvidence find_dropout(const std::vector<double>& dropped, const Estimate& weights, const Rounding& rounding) {
    DropoutEvidence out;
    std::vector<double> ratios;
    for (const double least : {kSmallWeight, 0.0}) {
        for (std::size_t i = 0; i < dropped.size(); ++i)
            if (dropped[i] != 0 && weights.value[i] > least && std::isfinite(dropped[i]) && std::isfinite(weights.slack_at(i)))
                ratios.push_back(dropped[i] / weights.value[i]);
        if (!ratios.empty()) break;
    }
    if (!ratios.empty()) {
        out.factor = median(ratios);
        if (!(out.factor > 1 + 8 * rounding.unit) || !(out.factor < 1e6)) out.factor = 1;
    }
    const bool all_gone = ratios.empty();
    out.expected = weights;
    std::int64_t kept = 0;
    if (out.expected.slack.empty()) out.expected.slack.assign(weights.value.size(), 0);
    for (std::size_t i = 0; i < dropped.size(); ++i) {
        double &value = out.expected.value[i], &slack = out.expected.slack[i];
        if (dropped[i] == 0 && value > slack && (out.factor > 1 || all_gone)) {
            ++out.zeros;
            value = slack = 0;
        } else {
            kept += value > slack;
            value *= out.factor;
            slack = slack * out.factor + 12 * rounding.unit * std::fabs(value) + least(rounding);
        }
    }
    // With only a few weights it is plausible that none was dropped; a factor close to 1 is a small error.
    constexpr double kLuck = 0.01, kLeastFactor = 1.02;
    out.spared = out.zeros == 0 && out.factor > kLeastFactor && std::pow(out.factor, static_cast<double>(-kept)) > kLuck;
    if (all_gone && out.zeros > 0) out.factor = std::numeric_limits<double>::infinity();
    return out;
}

void keep_zeros(Estimate& weights, const std::vector<double>& dropped, const Sequence& sizes) {
    std::vector<std::uint8_t> gone;
    for (std::size_t i = 0; i < dropped.size(); ++i) gone.push_back(dropped[i] == 0 && weights.value[i] > weights.slack_at(i));
    if (cells_beside_masks(sizes, gone) == 0) return;
    for (std::size_t i = 0; i < gone.size(); ++i) {
        if (gone[i] == 0) continue;
        weights.value[i] = 0;
        if (!weights.slack.empty()) weights.slack[i] = 0;
    }
}

std::optional<double> find_hidden_dropout(const std::vector<double>& context, const Estimate& weights, const Estimate& v,
                                          const Sequence& sizes, const Rounding& rounding, bool unscaled) {
    const std::vector<Row> rows = rows_of(context, weights, v, sizes, rounding);
    for (const Row& row : rows)
        for (const double x : row.target)
            if (!std::isfinite(x)) return std::nullopt;
    std::vector<double> factors;
    std::vector<const Row*> open;
    std::size_t gone = 0, lacking = 0;
    for (const Row& row : rows) {
        const std::optional<double> factor = common_factor(row, unscaled);
        lacking += factor && lacks_terms(row, *factor == 0 ? 1 : *factor);
        if (factor && *factor == 0) ++gone;
        else if (factor) factors.push_back(*factor);
        else if (2 * row.terms.size() <= row.target.size()) return std::nullopt;  // with so few terms dropout would have been found
        else open.push_back(&row);
    }
    // Rows that are too long to solve: with a known rate their subsets can be tried.
    constexpr std::size_t kLongestRow = 14;
    constexpr std::size_t kMostRows = 32;
    std::vector<double> candidates;
    if (!factors.empty()) {
        const double factor = median(factors), tolerance = std::max(0.01, 16 * rounding.unit);
        for (const double each : factors)
            if (!(std::fabs(each - factor) <= tolerance * factor)) return std::nullopt;
        candidates.push_back(factor);
    }
    if (unscaled) candidates = {1};
    if (factors.empty() && !unscaled)
        for (const double rate : {0.1, 0.2, 0.5, 0.3, 0.25, 0.05, 0.15, 0.4, 0.6, 0.7, 0.75, 0.8}) candidates.push_back(1 / (1 - rate));
    for (const double factor : candidates) {
        if (!unscaled && !(factor > 1.005)) continue;
        std::size_t tried = 0;
        bool all = true;
        for (const Row* row : open) {
            if (row->terms.size() > kLongestRow || tried == kMostRows) continue;
            ++tried;
            all = all && some_set_fits(*row, factor);
            if (!all) break;
            lacking += lacks_terms(*row, factor);
        }
        // A factor close to 1 that drops nothing would explain any small deviation.
        if (lacking < (unscaled ? 2 : 1)) continue;
        if (all && (tried + factors.size() + (factors.empty() ? 0 : gone) >= 2)) return 1 - 1 / factor;
    }
    return std::nullopt;
}

}  // namespace attn::doctor
