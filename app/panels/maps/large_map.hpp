#pragma once
/// Attention maps of long texts. They are held reduced; finer numbers are requested where needed and may arrive a few frames later.

#include <memory>
#include <span>

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/maps/matrix.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/map_region.hpp"
#include "app/widgets/heatmap_geometry.hpp"

namespace attn::app {

/// The map with the exact numbers of one row; other matrices are returned unchanged.
Matrix with_row(const PanelContext& context, Matrix matrix, std::int64_t row);
/// The same with the rows [first, last), or with a column.
Matrix with_rows(const PanelContext& context, Matrix matrix, std::int64_t first, std::int64_t last);
Matrix with_column(const PanelContext& context, Matrix matrix, std::int64_t col);
/// The map with its visible part at the resolution of the screen, down to single numbers.
Matrix with_part_in_sight(const PanelContext& context, Matrix matrix, const HeatmapGeometry& geometry);
struct ChangedMap {
    Matrix map;           ///< empty until computed
    std::string problem;  ///< why it cannot be computed
};
/// A large map with a transformation applied.
ChangedMap changed_map(const PanelContext& context, const Matrix& map, const facet::MapChange& change);
/// A matrix held in full, with the numbers that `change` makes of it; `state`: whose stage it shows.
ChangedMap changed_slice(const PanelContext& context, const Matrix& matrix, const StateRef& state, const facet::ChangedSlice& change);
/// The strongest cells of these maps, all of one stage, sequence and state: of small ones at once; of others as a facet finds them, and
/// until then the last ones, which may lack a head; of those of a long text in the rows that they hold. Null if none were found yet.
std::shared_ptr<const StrongCells> strong_cells(const PanelContext& context, std::span<const MapOfHead> maps, std::size_t most);
/// Treats a map like a large one by reducing it to `level`, to match a large map beside it.
Matrix as_large(Matrix map, const LargeMap& place, int level);
/// Whether statistics are available for a matrix; they are not for means and transformed large maps.
bool is_counted(const PanelContext& context, const Matrix& matrix);
/// Whether a matrix is so small that a frame has time to go through the numbers of several like it.
bool is_small(const Matrix& matrix);
/// Whose stage a matrix shows.
const Snapshot& snapshot_of(const PanelContext& context, const Matrix& matrix);
/// The sums of a matrix's rows over their unmasked cells; empty until they are computed, and for a large map.
Matrix row_sums(const PanelContext& context, const Matrix& matrix);
/// The statistics of a matrix; null for a large one until they are computed.
const TensorStatistics* statistics_of_matrix(const PanelContext& context, const Matrix& matrix);

}  // namespace attn::app
