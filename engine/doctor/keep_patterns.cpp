#include "engine/doctor/keep_patterns.hpp"

#include <algorithm>
#include <cmath>

namespace attn::doctor {
namespace {

template <class F>
Keep keep_where(const Sequence& sizes, const F& allowed) {
    Keep out;
    out.reserve(static_cast<std::size_t>(sizes.map_size()));
    for (std::int64_t h = 0; h < sizes.heads; ++h)
        for (std::int64_t t = 0; t < sizes.queries; ++t)
            for (std::int64_t s = 0; s < sizes.keys; ++s) out.push_back(allowed(t, s) ? 1 : 0);
    return out;
}

bool is_uniform(const double* row, std::int64_t keys) {
    return keys > 1 && std::all_of(row, row + keys, [&](double w) { return w == row[0]; });
}

/// Softmax gives equal weights if the whole row is masked with a large finite number.
bool has_equal_shares(const double* weights, std::int64_t keys) {
    return is_uniform(weights, keys) && std::fabs(weights[0] * static_cast<double>(keys) - 1) < 0.05;
}

/// The cells that are kept in at least one head.
Keep in_any_head(const Sequence& sizes, const Keep& keep) {
    const auto map = static_cast<std::size_t>(sizes.queries * sizes.keys);
    Keep out(keep.size(), 0);
    for (std::size_t i = 0; i < keep.size(); ++i) out[i % map] |= keep[i];
    for (std::size_t i = map; i < out.size(); ++i) out[i] = out[i % map];
    return out;
}

std::int64_t count_outside(const Keep& cells, const Keep& others) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) count += cells[i] != 0 && others[i] == 0;
    return count;
}

}  // namespace

Keep causal_keep(const Sequence& sizes, std::int64_t offset) {
    return keep_where(sizes, [&](std::int64_t t, std::int64_t s) { return s <= t + offset; });
}

Keep full_keep(const Sequence& sizes) { return Keep(static_cast<std::size_t>(sizes.map_size()), 1); }

Keep key_range_keep(const Sequence& sizes, std::int64_t first, std::int64_t last) {
    return keep_where(sizes, [&](std::int64_t, std::int64_t s) { return s >= first && s < last; });
}

Keep both(const Keep& a, const Keep& b) {
    Keep out(a.size());
    std::transform(a.begin(), a.end(), b.begin(), out.begin(),
                   [](std::uint8_t x, std::uint8_t y) { return static_cast<std::uint8_t>(x & y); });
    return out;
}

Keep complement(const Keep& a) {
    Keep out(a.size());
    std::transform(a.begin(), a.end(), out.begin(), [](std::uint8_t x) { return static_cast<std::uint8_t>(x == 0); });
    return out;
}

bool is_subset(const Keep& a, const Keep& b) { return both(a, b) == a; }

std::vector<std::uint8_t> keys_used(const Sequence& sizes, const Keep& keep) {
    std::vector<std::uint8_t> used(static_cast<std::size_t>(sizes.keys), 0);
    for (std::size_t i = 0; i < keep.size(); ++i) used[i % used.size()] |= keep[i];
    return used;
}

Keep keep_of_keys(const Sequence& sizes, const std::vector<std::uint8_t>& used) {
    return keep_where(sizes, [&](std::int64_t, std::int64_t s) { return used[static_cast<std::size_t>(s)] != 0; });
}

Keep keep_of_queries(const Sequence& sizes, const std::vector<std::uint8_t>& used) {
    return keep_where(sizes, [&](std::int64_t t, std::int64_t) { return used[static_cast<std::size_t>(t)] != 0; });
}

Keep along_diagonals(const Sequence& sizes, const Keep& keep) {
    const std::int64_t diagonals = sizes.queries + sizes.keys - 1;
    Keep seen(static_cast<std::size_t>(sizes.heads * diagonals), 0), out(keep.size());
    const auto diagonal_of = [&](std::size_t i) {
        const auto cell = static_cast<std::int64_t>(i), s = cell % sizes.keys, t = cell / sizes.keys % sizes.queries;
        return static_cast<std::size_t>(cell / sizes.keys / sizes.queries * diagonals + s - t + sizes.queries - 1);
    };
    for (std::size_t i = 0; i < keep.size(); ++i) seen[diagonal_of(i)] |= keep[i];
    for (std::size_t i = 0; i < keep.size(); ++i) out[i] = seen[diagonal_of(i)];
    return out;
}

std::int64_t cells_beside_masks(const Sequence& sizes, const Keep& gone) {
    const Keep left = complement(gone);
    if (sizes.heads > 1) return count_outside(gone, complement(in_any_head(sizes, left)));
    const Keep from_itself = causal_keep(sizes, sizes.first_query()), before = causal_keep(sizes, sizes.first_query() - 1);
    return std::min({count_outside(gone, complement(from_itself)), count_outside(gone, before),
                     count_outside(gone, complement(keep_of_keys(sizes, keys_used(sizes, left)))),
                     count_outside(gone, complement(along_diagonals(sizes, left)))});
}

std::optional<Keep> observed_keep(const Sequence& sequence) {
    const Part part = sequence.has(Part::Masked) ? Part::Masked : Part::Weights;
    if (!sequence.has(part)) return std::nullopt;
    const std::vector<double>& values = sequence[part];
    Keep keep(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        keep[i] = part == Part::Masked ? values[i] > kForbidding : std::isfinite(values[i]) && values[i] != 0;
    if (part == Part::Masked) return keep;
    const std::vector<double>* scores = sequence.has(Part::Scaled)   ? &sequence[Part::Scaled]
                                        : sequence.has(Part::Scores) ? &sequence[Part::Scores]
                                                                     : nullptr;
    const auto rows = [&](const auto& visit) {
        for (std::size_t row = 0; row < values.size(); row += static_cast<std::size_t>(sequence.keys)) visit(row);
    };
    // Without recorded scores such a row is recognized by the presence of rows unlike it.
    const bool made_of_scores = sequence.has(Part::Q) || sequence.has(Part::QProj);
    bool some_differ = false;
    rows([&](std::size_t row) { some_differ = some_differ || !has_equal_shares(values.data() + row, sequence.keys); });
    rows([&](std::size_t row) {
        const bool odd = scores != nullptr ? !is_uniform(scores->data() + row, sequence.keys) : some_differ && made_of_scores;
        if (odd && has_equal_shares(values.data() + row, sequence.keys))
            std::fill_n(keep.begin() + static_cast<std::ptrdiff_t>(row), sequence.keys, std::uint8_t{0});
    });
    return keep;
}

std::optional<Bug> mistaken_pattern(const Sequence& sizes, const Keep& keep) {
    const std::int64_t n = sizes.queries;
    // A given mask with a single row that allows only the first key may be padding.
    const bool cached = sizes.keys > n && sizes.intent.causal == true && (n > 1 || !sizes.intent.given);
    if (cached && keep == causal_keep(sizes, 0)) return Bug::CausalOffset;
    if (n != sizes.keys || n < 2) return std::nullopt;
    const std::vector<std::uint8_t> used = keys_used(sizes, keep);
    const Keep keys = keep_of_keys(sizes, used);
    const auto is = [&](const auto& allowed) { return keep == both(keep_where(sizes, allowed), keys); };
    // Padding may hide the last columns; but with only a few columns left, a pattern proves nothing.
    const std::int64_t columns = std::count(used.begin(), used.end(), std::uint8_t{1});
    if (columns + 1 >= n && used[0] != 0 && is([](std::int64_t t, std::int64_t s) { return s < t; })) return Bug::CausalMasksSelf;
    if (n < 3) return std::nullopt;
    if (columns >= 3 && is([](std::int64_t t, std::int64_t s) { return s <= t + 1; })) return Bug::CausalLeaksOne;
    if (columns >= 2 &&
        (is([](std::int64_t t, std::int64_t s) { return s > t; }) || is([](std::int64_t t, std::int64_t s) { return s >= t; })))
        return Bug::InvertedMask;
    std::vector<std::uint8_t> rows(static_cast<std::size_t>(n), 0);
    for (std::int64_t t = 0; t < n; ++t) rows[static_cast<std::size_t>(t)] = keep[static_cast<std::size_t>(t * n)];
    const bool some_rows = std::find(rows.begin(), rows.end(), 0) != rows.end() && std::find(rows.begin(), rows.end(), 1) != rows.end();
    if (some_rows && keep == keep_of_queries(sizes, rows)) return Bug::PaddingOnQueries;
    return std::nullopt;
}

}  // namespace attn::doctor
