#pragma once
/// The largest numbers of some maps, which are drawn as lines between tokens.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attn::app {

struct Matrix;

/// A cell of one of several maps.
struct MapCell {
    std::size_t map = 0;
    std::int64_t row = 0, col = 0;
    float value = 0;
};

/// Weakest first.
struct StrongCells {
    std::vector<MapCell> cells;
    float least = 0;  ///< the smallest value asked for, or kept if cells were left out
};

/// Unmasked cells of at least `threshold`; equal ones by map, row and column. Beyond `most` cells the weakest are left out.
/// Of a large map only the rows that it holds are searched. NaN is never large.
StrongCells strong_cells(std::span<const Matrix* const> maps, float threshold, std::size_t most);

}  // namespace attn::app
