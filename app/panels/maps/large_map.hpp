#pragma once
/// Attention maps of long texts: they are there reduced, and what is looked at more closely is asked for. It may come a few frames later.

#include "app/panels/panel_context.hpp"
#include "app/widgets/heatmap_geometry.hpp"

namespace attn::app {

/// The map with the numbers of one of its rows; any other matrix as it is.
Matrix with_row(const PanelContext& context, Matrix matrix, std::int64_t row);
/// The same with the rows [first, last), and with a column.
Matrix with_rows(const PanelContext& context, Matrix matrix, std::int64_t first, std::int64_t last);
Matrix with_column(const PanelContext& context, Matrix matrix, std::int64_t col);
/// The map with as many numbers of what is in sight as there are pixels for, down to every single one.
Matrix with_part_in_sight(const PanelContext& context, Matrix matrix, const HeatmapGeometry& geometry);
struct ChangedMap {
    Matrix map;           ///< empty until it is computed
    std::string problem;  ///< why it cannot be
};
/// A large map changed.
ChangedMap changed_map(const PanelContext& context, const Matrix& map, const facet::MapChange& change);
/// A map as if it were large, where another beside it is: reduced as that is.
Matrix as_large(Matrix map, const LargeMap& place, int level);
/// Whether somebody counts what the numbers of a matrix are like: nobody does of means and changes of large maps.
bool is_counted(const PanelContext& context, const Matrix& matrix);
/// What the numbers of the matrix are like; none of a large map until they have been counted.
const TensorStatistics* statistics_of_matrix(const PanelContext& context, const Matrix& matrix);

}  // namespace attn::app
