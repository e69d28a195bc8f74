// Numbers that are computed from others before they are drawn: at once where a frame has time for it, otherwise as a facet.
#include <algorithm>
#include <utility>

#include "app/session/numbers/heatmap_statistics.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/session/numbers/number_keys.hpp"
#include "app/session/values/map_tensors.hpp"

namespace attn::app {
namespace {

/// How the question wants the numbers changed. A mean of weights has no norm of its own.
facet::MapChange change_of(const NumbersOf& wanted) {
    return {.without_first_key = wanted.without_first_key, .norm_weighted = wanted.norm_weighted && wanted.head != kMeanHead};
}

bool have_one_size(const Matrix& a, const Matrix& b) { return a.data.rows == b.data.rows && a.data.cols == b.data.cols; }

/// As facets name it: query heads may share the keys of one head, and a mean has no single origin.
std::int64_t stored_head(const Matrix& slice) { return slice.origin ? slice.origin->index[1] : kMeanHead; }

/// A map that is held in full as if it were held in blocks, to be subtracted from or by one that is.
Matrix as_blocks(Matrix map, int level) {
    const NumbersOf& of = *map.of;
    map.blocks = Blocks{.head = of.head == kMeanHead ? of.of.structure().config.num_heads : of.head, .non_finite = {}};
    map.data.level = level;
    return map;
}

}  // namespace

Matrix NumberDesk::with_numbers(Matrix matrix, std::uint64_t key, const ChangedSlice& numbers) const {
    const std::int64_t rows = matrix.data.rows, cols = matrix.data.cols;
    matrix.data = {.key = key,
                   .values = numbers.values.data(),
                   .rows = rows,
                   .cols = cols,
                   .row_stride = cols,
                   .keep = numbers.keep.empty() ? nullptr : numbers.keep.data()};
    store_.statistics.at(key) = numbers.statistics;
    matrix.is_changed = true;
    return matrix;
}

Matrix NumberDesk::with_slice(Matrix matrix, std::shared_ptr<const ChangedSlice> numbers) const {
    // The store keeps these numbers, so none that come later have their address.
    KeptSlice& slice = store_.slices.at(reinterpret_cast<std::uintptr_t>(numbers.get()));
    if (slice.numbers == nullptr) slice.key = mix_key(++store_.slices_so_far, KeyOf::Slice);
    slice.numbers = std::move(numbers);
    return with_numbers(std::move(matrix), slice.key, *slice.numbers);
}

Found NumberDesk::sliced(const Matrix& place, const StateRef& state, const facet::ChangedSlice& slice) const {
    const auto answer = inquiry_.ask(state, slice);
    return answer ? Found{with_slice(place, answer.value)} : Found{{}, reason_of(answer)};
}

Found NumberDesk::changed(Matrix values) const {
    const facet::MapChange change = change_of(*values.of);
    if (change == facet::MapChange{}) return {std::move(values)};
    const bool here = !values.in_blocks() && is_small(values);
    return here ? changed_here(std::move(values), change) : changed_elsewhere(std::move(values), change);
}

Found NumberDesk::changed_here(Matrix values, const facet::MapChange& change) const {
    bool fresh = false;
    if (change.without_first_key) {
        const std::uint64_t key = mix_key(values.data.key, KeyOf::WithoutFirst);
        ChangedSlice& slice = store_.changed.at(key, &fresh);
        if (fresh) slice = slice_without_first_key(grid_of(values.data));
        values = with_numbers(std::move(values), key, slice);
        mark_without_first_key(values);
    }
    if (!change.norm_weighted) return {std::move(values)};
    const NumbersOf& of = *values.of;
    const auto norms = inquiry_.ask(of.of.state, facet::ValueNorms::of(of.stage));
    if (!norms) return {{}, reason_of(norms)};
    const std::uint64_t key = mix_key(values.data.key, KeyOf::NormWeighted);
    ChangedSlice& slice = store_.changed.at(key, &fresh);
    if (fresh) slice = norm_weighted_slice(grid_of(values.data), norms_of_head(*norms, of.sequence, of.head));
    values = with_numbers(std::move(values), key, slice);
    mark_norm_weighted(values);
    return {std::move(values)};
}

Found NumberDesk::changed_elsewhere(Matrix values, const facet::MapChange& change) const {
    const NumbersOf of = *values.of;
    Found out = values.in_blocks()
                    ? changed_blocks(std::move(values), change)
                    : sliced(values, of.of.state,
                             {.stage = of.stage, .sequence = of.sequence, .head = of.head, .part = part_of(values), .change = change});
    if (out.map.empty()) return out;
    if (change.without_first_key) mark_without_first_key(out.map);
    if (change.norm_weighted) mark_norm_weighted(out.map);
    return out;
}

Found NumberDesk::difference(const Matrix& b, const Matrix& a) const {
    if (b.empty() || a.empty() || !have_one_size(a, b)) return {};
    const bool whole = !b.in_blocks() && !a.in_blocks();
    Found out;
    if (whole && is_small(b)) {
        const std::uint64_t key = mix_key(mix_key(b.data.key, a.data.key), KeyOf::Difference);
        bool fresh = false;
        ChangedSlice& slice = store_.changed.at(key, &fresh);
        if (fresh) slice = slice_difference(grid_of(b.data), grid_of(a.data), b.content == Content::Probability);
        out.map = with_numbers(b, key, slice);
    } else out = whole ? difference_of_slices(b, a) : difference_of_blocks(b, a);
    if (!out.map.empty()) mark_difference(out.map);
    out.map.labelled_by.before = a.labelled_by.snapshot;
    out.map.labelled_by.batch_before = a.labelled_by.batch;
    return out;
}

Found NumberDesk::difference_of_slices(const Matrix& b, const Matrix& a) const {
    const NumbersOf &now = *b.of, &before = *a.of;
    return sliced(b, now.of.state,
                  {.stage = now.stage,
                   .sequence = now.sequence,
                   .head = stored_head(b),
                   .part = part_of(b),
                   .change = {.minus = before.of.state, .minus_stage = before.stage, .minus_head = stored_head(a)},
                   .minus_sequence = before.sequence,
                   .minus_part = part_of(a)});
}

Found NumberDesk::difference_of_blocks(const Matrix& b, const Matrix& a) const {
    const Matrix now = b.in_blocks() ? b : as_blocks(b, a.data.level), before = a.in_blocks() ? a : as_blocks(a, b.data.level);
    facet::MapChange change{.minus = a.of->of.state, .minus_stage = a.of->stage};
    if (now.blocks->head != before.blocks->head) change.minus_head = before.blocks->head;
    return changed_blocks(now, change, a.of->of.snapshot->serial);
}

Matrix NumberDesk::row_sums(const Matrix& matrix) const {
    if (matrix.empty() || matrix.in_blocks()) return {};
    if (is_small(matrix)) {
        const std::uint64_t key = mix_key(matrix.data.key, KeyOf::RowSums);
        bool fresh = false;
        ChangedSlice& slice = store_.changed.at(key, &fresh);
        if (fresh) slice = slice_row_sums(grid_of(matrix.data));
        return with_numbers(place_of_row_sums(matrix), key, slice);
    }
    if (!matrix.origin || !matrix.of || matrix.is_changed || matrix.is_gradient) return {};
    const bool heads = std::max(matrix.row_index, matrix.col_index) == 3;
    return sliced(place_of_row_sums(matrix), matrix.of->of.state,
                  {.stage = matrix.origin->stage,
                   .sequence = matrix.origin->index[0],
                   .head = heads ? matrix.origin->index[1] : 0,
                   .part = part_of(matrix),
                   .row_sums = true})
        .map;
}

std::shared_ptr<const StrongCells> NumberDesk::strongest_here(std::span<const MapOfHead> maps, std::size_t most) const {
    std::uint64_t key = most;
    for (const auto& [map, head] : maps) {
        const HeatmapRegion* rows = map->in_blocks() ? map->data.row : nullptr;
        key = mix_key(mix_key(key, static_cast<std::uint64_t>(head)), rows != nullptr    ? rows->key
                                                                      : map->in_blocks() ? std::uint64_t{0}
                                                                                         : map->data.key);
    }
    std::shared_ptr<const StrongCells>& found = store_.strong_cells.at(key);
    if (found != nullptr) return found;
    StrongestCells strongest(most);
    for (const auto& [map, head] : maps) {
        const HeatmapRegion* rows = map->in_blocks() ? map->data.row : nullptr;
        if (map->in_blocks() && rows == nullptr) continue;
        const std::int64_t first = rows == nullptr ? 0 : rows->first_row, end = rows == nullptr ? map->data.rows : first + rows->rows;
        for (std::int64_t row = first; row < end; ++row)
            for (std::int64_t col = 0; col < map->data.cols; ++col)
                if (!map->masked(row, col)) strongest.add({head, row, col, map->at(row, col)});
    }
    return found = std::make_shared<const StrongCells>(strongest.take());
}

std::shared_ptr<const StrongCells> NumberDesk::strongest(std::span<const MapOfHead> maps, std::size_t most) const {
    std::int64_t cells = 0;
    for (const MapOfHead& one : maps) cells += one.map->in_blocks() ? 0 : one.map->data.rows * one.map->data.cols;
    if (cells <= kFewCells) return strongest_here(maps, most);
    const Matrix* first = nullptr;
    facet::StrongCells asked{.stage = {}, .most = most};
    for (const MapOfHead& one : maps) {
        if (one.map->empty() || !one.map->of) continue;  // a mean that is being computed
        asked.heads.push_back(one.head);
        if (first == nullptr || one.map->origin) first = one.map;
    }
    if (first == nullptr) return nullptr;
    const NumbersOf& of = *first->of;
    asked.stage = of.stage;
    asked.sequence = first->origin ? first->origin->index[0] : of.sequence;
    asked.part = part_of(*first);
    // Heads do not count: whoever draws the cells picks those of the heads that are shown.
    std::shared_ptr<const StrongCells>& latest =
        store_.latest_cells.at(mix_key(mix_key(of.of.snapshot->serial, tensor_name(of.stage)), static_cast<std::uint64_t>(asked.sequence)));
    if (const auto found = inquiry_.ask(of.of.state, asked)) latest = found.value;
    return latest;
}

Found NumberDesk::totals(const TotalsOf& wanted) const {
    const char* const symbol = wanted.rollout ? "rollout" : "mean";
    const std::uint64_t key =
        mix_key(mix_key(mix_key(wanted.serial, KeyOf::Total), std::uint64_t{wanted.layer} * 2 + (wanted.rollout ? 1 : 0)),
                static_cast<std::uint64_t>(wanted.totals->stack) + 8 * static_cast<std::uint64_t>(wanted.sequence));
    Found found;
    if (wanted.in_blocks()) {
        const auto& maps = wanted.rollout ? wanted.totals->reduced_rollouts : wanted.totals->reduced_means;
        found.map = reduced(maps[wanted.layer], key, 0, wanted.of.structure().config.num_heads);
        found.map.symbol = found.map.name = symbol;
        found.map.content = Content::Probability;
        found.map.origin.reset();
        found.map.blocks->alone = true;
    } else {
        const Matrix place = place_of_token_map(wanted.totals->rollouts[wanted.layer].positions(), symbol);
        if (is_small(place)) {
            bool fresh = false;
            ChangedSlice& slice = store_.changed.at(key, &fresh);
            if (fresh) slice = slice_of_totals({*wanted.of.snapshot->trace, *wanted.totals, wanted.rollout, wanted.layer, wanted.sequence});
            found.map = with_numbers(place, key, slice);
        } else found = totals_elsewhere(place, wanted, nullptr);
    }
    found.map.labelled_by = {wanted.of.snapshot, wanted.sequence};
    return found;
}

Found NumberDesk::totals_elsewhere(const Matrix& place, const TotalsOf& of_b, const TotalsOf* of_a) const {
    facet::TotalsSlice slice{.rollout = of_b.rollout, .at = of_b.place()};
    if (of_a != nullptr) {
        slice.minus = of_a->of.state;
        slice.minus_at = of_a->place();
    }
    const auto answer = inquiry_.ask_latest(of_b.of.state, slice);
    if (answer) return {with_slice(place, answer.value)};
    Found awaited{place, reason_of(answer)};
    awaited.map.data.values = nullptr;
    return awaited;
}

Found NumberDesk::totals_difference(const TotalsOf& of_b, const Matrix& b, const TotalsOf& of_a, const Matrix& a) const {
    Found found = is_small(b) ? difference(b, a) : totals_elsewhere(b, of_b, &of_a);
    if (!is_small(b)) mark_difference(found.map);
    found.map.labelled_by = b.labelled_by;  // one text
    return found;
}

}  // namespace attn::app
