#include "app/panels/maps/large_map.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/session/values/changed_slice.hpp"
#include "app/session/values/map_region.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/statistics.hpp"
#include "app/session/values/strong_cells.hpp"

namespace attn::app {
namespace {

/// Regions are aligned to multiples of this many cells (at their level), so that panning often finds them cached.
constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kMostRegionBytes = 32 << 20;
/// This many are read within a fraction of a millisecond.
constexpr std::int64_t kFewCells = std::int64_t{1} << 18;

std::int64_t bytes_of(const MapRegion& region, std::int64_t maps) {
    return region.block_rows() * region.block_cols() * maps * static_cast<std::int64_t>(sizeof(float));
}

/// The finest level that the pixels can resolve.
int level_in_sight(const HeatmapGeometry& geometry) {
    const double across = geometry.cols.size() / static_cast<double>(geometry.max.x - geometry.min.x),
                 down = geometry.rows.size() / static_cast<double>(geometry.max.y - geometry.min.y);
    int level = 0;
    while (std::ldexp(2.0, level) < std::min(across, down)) ++level;
    return level;
}

/// The range extended to the alignment of a level.
std::pair<std::int64_t, std::int64_t> aligned(std::int64_t first, std::int64_t last, std::int64_t end, int level) {
    const std::int64_t step = kAlignment << level;
    return {std::max<std::int64_t>(first, 0) / step * step, std::min((last + step - 1) / step * step, end)};
}

const StateRef& state_of(const PanelContext& context, const LargeMap& map) {
    return map.state != nullptr ? map.state : context.states.shown;
}

/// In the Step view only the selected head is needed, but the other side of a comparison may show another one.
std::optional<std::int64_t> head_of(const PanelContext& context, const LargeMap& map) {
    return context.only_head() ? std::optional(map.head) : std::nullopt;
}

const HeatmapRegion* asked_region(const PanelContext& context, const LargeMap& map, const MapRegion& region) {
    if (map.in_blocks_alone) return nullptr;
    const auto answer = context.inquiry.ask(state_of(context, map), facet::MapRegion{map.stage, region, head_of(context, map), map.change});
    return answer ? context.matrices.region(map, context.snapshot.trace->config.num_heads, answer.value) : nullptr;
}

/// The part that holds the stage in the outline of the matrix's state; none for a whole trace.
std::optional<facet::Inside> part_holding(const PanelContext& context, const Matrix& matrix, const StageId& stage) {
    const bool shown = matrix.labelled_by.snapshot == nullptr;
    return context.part_read(*snapshot_of(context, matrix).trace, stage, shown ? context.only_head() : matrix.labelled_by.only_head);
}

bool has_heads(const Matrix& matrix) { return std::max(matrix.row_index, matrix.col_index) == 3; }

/// The facet with the statistics of a matrix that is too large to be counted at once; none for changed slices, which come with theirs.
std::optional<facet::Statistics> counted_elsewhere(const PanelContext& context, const Matrix& matrix) {
    if (is_small(matrix) || matrix.large || matrix.is_changed) return {};
    if (matrix.mean_of)
        return facet::Statistics{.stage = *matrix.mean_of,
                                 .head = kMeanHead,
                                 .sequence = matrix.labelled_by.batch,
                                 .part = part_holding(context, matrix, *matrix.mean_of)};
    if (!matrix.origin) return {};
    if (!matrix.origin->parameter.empty()) return facet::Statistics{.gradients = matrix.is_gradient, .parameter = matrix.origin->parameter};
    facet::Statistics statistics{.stage = matrix.origin->stage, .gradients = matrix.is_gradient, .sequence = matrix.origin->index[0]};
    if (has_heads(matrix)) statistics.head = matrix.origin->index[1];
    if (!matrix.is_gradient) statistics.part = part_holding(context, matrix, matrix.origin->stage);
    return statistics;
}

}  // namespace

const Snapshot& snapshot_of(const PanelContext& context, const Matrix& matrix) {
    return matrix.labelled_by.snapshot == nullptr ? context.snapshot : *matrix.labelled_by.snapshot;
}

Matrix with_rows(const PanelContext& context, Matrix matrix, std::int64_t first, std::int64_t last) {
    if (!matrix.large || first < 0 || first >= last || last > matrix.data.rows) return matrix;
    matrix.data.row = asked_region(context, *matrix.large, {first, last - first, 0, matrix.data.cols, 0});
    return matrix;
}

Matrix with_column(const PanelContext& context, Matrix matrix, std::int64_t col) {
    if (!matrix.large || col < 0 || col >= matrix.data.cols) return matrix;
    matrix.data.finer = asked_region(context, *matrix.large, {0, matrix.data.rows, col, 1, 0});
    return matrix;
}

Matrix with_row(const PanelContext& context, Matrix matrix, std::int64_t row) {
    return with_rows(context, std::move(matrix), row, row + 1);
}

Matrix with_part_in_sight(const PanelContext& context, Matrix matrix, const HeatmapGeometry& geometry) {
    if (!matrix.large || matrix.large->in_blocks_alone) return matrix;
    const std::int64_t maps = head_of(context, *matrix.large) ? 1 : context.snapshot.trace->config.num_heads + 1;
    for (int level = level_in_sight(geometry); level < matrix.data.level; ++level) {
        const auto rows = aligned(geometry.first_row(), geometry.end_row(), matrix.data.rows, level);
        const auto cols = aligned(geometry.first_col(), geometry.end_col(), matrix.data.cols, level);
        const MapRegion region{rows.first, rows.second - rows.first, cols.first, cols.second - cols.first, level};
        if (region.rows <= 0 || region.cols <= 0) return matrix;
        if (bytes_of(region, maps) > kMostRegionBytes) continue;
        matrix.data.finer = asked_region(context, *matrix.large, region);
        if (matrix.data.finer == nullptr) matrix.data.finer = context.matrices.last_region(*matrix.large);
        return matrix;
    }
    return matrix;
}

bool is_counted(const PanelContext& context, const Matrix& matrix) {
    if (!matrix.large) return true;
    const bool of_one_head = matrix.large->head < context.snapshot.trace->config.num_heads;
    return of_one_head && !matrix.large->in_blocks_alone && matrix.large->change == facet::MapChange{};
}

bool is_small(const Matrix& matrix) { return matrix.data.rows * matrix.data.cols <= kFewCells; }

const TensorStatistics* statistics_of_matrix(const PanelContext& context, const Matrix& matrix) {
    if (const auto facet = counted_elsewhere(context, matrix))
        return context.inquiry.ask(snapshot_of(context, matrix).state, *facet).value.get();
    if (!matrix.large) return &context.matrices.statistics(matrix);
    if (!is_counted(context, matrix)) return nullptr;
    return context.inquiry.ask(state_of(context, *matrix.large), facet::Statistics{matrix.large->stage, false, matrix.large->head})
        .value.get();
}

ChangedMap changed_map(const PanelContext& context, const Matrix& map, const facet::MapChange& change) {
    const attn::MapRegion all{0, map.data.rows, 0, map.data.cols, map.data.level};
    const auto answer =
        context.inquiry.ask(state_of(context, *map.large), facet::MapRegion{map.large->stage, all, head_of(context, *map.large), change});
    if (!answer) return {{}, answer.problem};
    return {context.matrices.changed(map, change, context.snapshot.trace->config.num_heads, answer.value), ""};
}

ChangedMap changed_slice(const PanelContext& context, const Matrix& matrix, const StateRef& state, const facet::ChangedSlice& change) {
    const auto answer = context.inquiry.ask(state, change);
    if (!answer) return {{}, answer.problem};
    return {context.matrices.with_slice(matrix, answer.value), ""};
}

std::shared_ptr<const StrongCells> strong_cells(const PanelContext& context, std::span<const MapOfHead> maps, std::size_t most) {
    std::int64_t cells = 0;
    for (const MapOfHead& one : maps) cells += one.map->large ? 0 : one.map->data.rows * one.map->data.cols;
    if (cells <= kFewCells) return context.matrices.strong_cells(maps, most);
    const MapOfHead* origin = nullptr;
    facet::StrongCells asked{.stage = {}, .most = most};
    for (const MapOfHead& one : maps) {
        if (one.map->empty()) continue;  // a mean that is being computed
        asked.heads.push_back(one.head);
        if (one.map->origin) origin = &one;
    }
    const Matrix& first = *(origin != nullptr ? origin : &maps.front())->map;
    asked.stage = first.mean_of ? *first.mean_of : first.origin->stage;
    asked.sequence = first.mean_of ? first.labelled_by.batch : first.origin->index[0];
    asked.part = part_holding(context, first, asked.stage);
    return context.matrices.latest_cells(asked.stage, asked.sequence, context.inquiry.ask(snapshot_of(context, first).state, asked).value);
}

Matrix row_sums(const PanelContext& context, const Matrix& matrix) {
    if (matrix.empty() || matrix.large) return {};
    if (is_small(matrix)) return context.matrices.row_sums(matrix);
    if (!matrix.origin || matrix.is_changed || matrix.is_gradient) return {};
    const StageId& stage = matrix.origin->stage;
    return changed_slice(context, place_of_row_sums(matrix), snapshot_of(context, matrix).state,
                         {.stage = stage,
                          .sequence = matrix.origin->index[0],
                          .head = has_heads(matrix) ? matrix.origin->index[1] : 0,
                          .part = part_holding(context, matrix, stage),
                          .row_sums = true})
        .map;
}

Matrix as_large(Matrix map, const LargeMap& place, int level) {
    map.large = place;
    map.data.level = level;
    return map;
}

}  // namespace attn::app
