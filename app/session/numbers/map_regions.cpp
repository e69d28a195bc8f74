// Attention maps of long texts. They are held in blocks; finer numbers are asked for where they are looked at, and may come a few frames
// later. And what is counted in maps of any size.
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/session/numbers/heatmap_statistics.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/session/numbers/number_keys.hpp"

namespace attn::app {
namespace {

/// Regions are aligned to multiples of this many cells (at their level), so that panning often finds them cached.
constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kMostRegionBytes = 32 << 20;

std::int64_t bytes_of(const attn::MapRegion& region, std::int64_t maps) {
    return region.block_rows() * region.block_cols() * maps * static_cast<std::int64_t>(sizeof(float));
}

/// The finest level that the pixels can resolve.
int level_in_sight(const VisibleCells& visible) {
    int level = 0;
    while (std::ldexp(2.0, level) < std::min(visible.cols_per_pixel, visible.rows_per_pixel)) ++level;
    return level;
}

/// The range extended to the alignment of a level.
std::pair<std::int64_t, std::int64_t> aligned(std::int64_t first, std::int64_t last, std::int64_t end, int level) {
    const std::int64_t step = kAlignment << level;
    return {std::max<std::int64_t>(first, 0) / step * step, std::min((last + step - 1) / step * step, end)};
}

/// The head that alone is computed; none: all of them.
std::optional<std::int64_t> head_alone(const Matrix& map) { return map.of->of.one_head ? std::optional(map.blocks->head) : std::nullopt; }

std::int64_t heads_of(const Matrix& map) { return map.of->of.structure().config.num_heads; }

bool has_finer_numbers(const Matrix& map) { return map.in_blocks() && !map.blocks->alone; }

/// Of a map in blocks with its transformation. Named rather than addressed, because regions are reallocated while their numbers stay the
/// same.
std::uint64_t key_of_map(const Matrix& map) {
    const facet::MapChange& change = map.blocks->change;
    std::uint64_t key = mix_key(mix_key(map.of->of.snapshot->serial, KeyOf::Region), tensor_name(map.of->stage));
    key = mix_key(key, static_cast<std::uint64_t>(map.blocks->head));
    key = mix_key(key, std::uint64_t{change.without_first_key ? 1U : 0U} + (change.norm_weighted ? 2U : 0U));
    if (change.minus == nullptr) return key;
    key = mix_key(mix_key(key, map.blocks->minus_serial), tensor_name(change.minus_stage));
    return mix_key(key, static_cast<std::uint64_t>(change.minus_head.value_or(-1)));
}

TensorStatistics statistics_of_blocks(const Matrix& matrix) {
    HeatmapData blocks = matrix.data;
    blocks.rows = ((blocks.rows - 1) >> blocks.level) + 1;
    blocks.cols = blocks.row_stride;
    const TensorStatistics found = compute_statistics(blocks);
    TensorStatistics out{.nan = matrix.blocks->non_finite.nan, .infinite = matrix.blocks->non_finite.infinite};
    out.min = found.min;
    out.max = found.max;
    out.mean = found.mean;
    out.deviation = found.deviation;
    return out;
}

}  // namespace

const HeatmapRegion* NumberDesk::region(const Matrix& map, std::shared_ptr<const ReducedMap> numbers, bool is_whole) const {
    const auto place = numbers->place_of(map.blocks->head, heads_of(map));
    if (!place) return nullptr;
    const attn::MapRegion& cells = numbers->region;
    const std::uint64_t of_map = key_of_map(map);
    std::uint64_t key = of_map;
    for (const std::int64_t number : {cells.first_row, cells.rows, cells.first_col, cells.cols, std::int64_t{cells.level}})
        key = mix_key(key, static_cast<std::uint64_t>(number));
    const HeatmapRegion shown{.key = key,
                              .first_row = cells.first_row,
                              .rows = cells.rows,
                              .first_col = cells.first_col,
                              .cols = cells.cols,
                              .level = cells.level,
                              .values = numbers->numbers(*place),
                              .keep = numbers->keep.empty() ? nullptr : numbers->keep.data()};
    if (cells.rows > 1 && !is_whole) store_.last_regions.at(of_map) = key;
    KeptRegion& kept = store_.regions.at(key);
    kept = {std::move(numbers), shown};
    return &kept.region;
}

const HeatmapRegion* NumberDesk::asked_region(const Matrix& map, const attn::MapRegion& cells) const {
    const NumbersOf& of = *map.of;
    const auto answer = inquiry_.ask(of.of.state, facet::MapRegion{of.stage, cells, head_alone(map), map.blocks->change});
    return answer ? region(map, answer.value) : nullptr;
}

Matrix NumberDesk::with_rows(Matrix matrix, std::int64_t first, std::int64_t last) const {
    if (!has_finer_numbers(matrix) || first < 0 || first >= last || last > matrix.data.rows) return matrix;
    matrix.data.row = asked_region(matrix, {first, last - first, 0, matrix.data.cols, 0});
    return matrix;
}

Matrix NumberDesk::with_column(Matrix matrix, std::int64_t col) const {
    if (!has_finer_numbers(matrix) || col < 0 || col >= matrix.data.cols) return matrix;
    matrix.data.finer = asked_region(matrix, {0, matrix.data.rows, col, 1, 0});
    return matrix;
}

Matrix NumberDesk::with_visible(Matrix matrix, const VisibleCells& visible) const {
    if (!has_finer_numbers(matrix)) return matrix;
    const std::int64_t maps = head_alone(matrix) ? 1 : heads_of(matrix) + 1;
    for (int level = level_in_sight(visible); level < matrix.data.level; ++level) {
        const auto rows = aligned(visible.first_row, visible.end_row, matrix.data.rows, level);
        const auto cols = aligned(visible.first_col, visible.end_col, matrix.data.cols, level);
        const attn::MapRegion cells{rows.first, rows.second - rows.first, cols.first, cols.second - cols.first, level};
        if (cells.rows <= 0 || cells.cols <= 0) return matrix;
        if (bytes_of(cells, maps) > kMostRegionBytes) continue;
        matrix.data.finer = asked_region(matrix, cells);
        if (matrix.data.finer != nullptr) return matrix;
        // Until it is there, the last one stays.
        const std::uint64_t* last = store_.last_regions.find(key_of_map(matrix));
        const KeptRegion* kept = last == nullptr ? nullptr : store_.regions.find(*last);
        if (kept != nullptr) matrix.data.finer = &kept->region;
        return matrix;
    }
    return matrix;
}

Found NumberDesk::changed_blocks(Matrix map, const facet::MapChange& change, std::uint64_t minus_serial) const {
    const NumbersOf& of = *map.of;
    const attn::MapRegion all{0, map.data.rows, 0, map.data.cols, map.data.level};
    const auto answer = inquiry_.ask(of.of.state, facet::MapRegion{of.stage, all, head_alone(map), change});
    if (!answer) return {{}, reason_of(answer)};
    map.blocks->change = change;
    map.blocks->minus_serial = minus_serial;
    const auto place = answer->place_of(map.blocks->head, heads_of(map));
    if (place) map.blocks->non_finite = answer->non_finite[static_cast<std::size_t>(*place)];
    const HeatmapRegion* whole = region(map, answer.value, true);
    if (whole == nullptr) return {};  // these are of other heads
    map.data.values = whole->values;
    map.data.keep = whole->keep;
    map.data.key = whole->key;
    map.data.level = whole->level;
    map.data.row_stride = whole->block_cols();
    map.data.finer = map.data.row = nullptr;
    return {std::move(map)};
}

bool NumberDesk::is_counted(const Matrix& matrix) const {
    if (!matrix.in_blocks()) return true;
    return has_finer_numbers(matrix) && matrix.blocks->head < heads_of(matrix) && matrix.blocks->change == facet::MapChange{};
}

/// The facet with the statistics of a matrix that is too large to be counted at once; none for changed slices, which come with theirs.
std::optional<facet::Statistics> NumberDesk::counted_elsewhere(const Matrix& matrix) const {
    if (is_small(matrix) || matrix.in_blocks() || matrix.is_changed) return {};
    if (matrix.mean_of)
        return facet::Statistics{
            .stage = *matrix.mean_of, .head = kMeanHead, .sequence = matrix.labelled_by.batch, .part = part_of(matrix)};
    if (!matrix.origin) return {};
    if (!matrix.origin->parameter.empty()) return facet::Statistics{.gradients = matrix.is_gradient, .parameter = matrix.origin->parameter};
    facet::Statistics statistics{.stage = matrix.origin->stage, .gradients = matrix.is_gradient, .sequence = matrix.origin->index[0]};
    if (std::max(matrix.row_index, matrix.col_index) == 3) statistics.head = matrix.origin->index[1];
    if (!matrix.is_gradient) statistics.part = part_of(matrix);
    return statistics;
}

const TensorStatistics* NumberDesk::count(const Matrix& matrix) const {
    const StateRef& state = matrix.labelled_by.snapshot == nullptr ? shown_.state : matrix.labelled_by.snapshot->state;
    if (const auto facet = counted_elsewhere(matrix)) return inquiry_.ask(state, *facet).value.get();
    if (!matrix.in_blocks()) return &statistics(matrix);
    if (!is_counted(matrix)) return nullptr;
    return inquiry_.ask(state, facet::Statistics{matrix.of->stage, false, matrix.blocks->head}).value.get();
}

const TensorStatistics& NumberDesk::statistics(const Matrix& matrix) const {
    bool fresh = false;
    TensorStatistics& found = store_.statistics.at(matrix.data.key, &fresh);
    if (fresh) found = matrix.in_blocks() ? statistics_of_blocks(matrix) : compute_statistics(matrix.data);
    return found;
}

std::pair<float, float> NumberDesk::latest_range(const std::string& name, const TensorStatistics* now) const {
    std::pair<float, float>& last = store_.latest_ranges[name];
    if (now != nullptr) last = {now->min, now->max};
    return last;
}

}  // namespace attn::app
