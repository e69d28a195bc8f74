#pragma once
/// The largest weights of some heads, which are drawn as lines between tokens.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "app/session/facets/statistics.hpp"

namespace attn::app {

struct MapCell {
    std::int64_t head = 0;
    std::int64_t row = 0, col = 0;
    float value = 0;
};

/// Weakest first; equal ones by head, row and column.
struct StrongCells {
    std::vector<MapCell> cells;
    bool cut = false;  ///< there were more

    std::span<const MapCell> at_least(float threshold) const;
    /// The smallest value that at_least() covers: `threshold`, or the smallest one kept if that is larger.
    float least(float threshold) const;
};

/// Collects the `most` strongest cells, in memory for twice as many. Masked and negative numbers and NaN have no strength.
class StrongestCells {
public:
    explicit StrongestCells(std::size_t most) : most_(most) {}
    void add(const MapCell& cell);
    void add(std::int64_t head, const NumberGrid& grid);
    StrongCells take();

private:
    void drop_weakest();
    std::size_t most_;
    StrongCells found_;
};

}  // namespace attn::app
