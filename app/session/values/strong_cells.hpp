#pragma once
/// The largest weights of some heads, which are drawn as lines between tokens.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "app/session/values/facet.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/statistics.hpp"
#include "engine/plan/stage.hpp"

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

namespace facet {

/// The strongest cells of some heads' maps, all of one stage that is held in full.
struct StrongCells {
    using Value = app::StrongCells;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StageId stage;
    std::int64_t sequence = 0;
    std::vector<std::int64_t> heads{};  ///< negative: the mean over all heads
    std::size_t most = 0;
    std::optional<Inside> part{};  ///< the part that holds the stage; none: the whole trace
    static Job<Value> make(const StrongCells&, Ask& ask);
    bool operator==(const StrongCells&) const = default;
};

}  // namespace facet

}  // namespace attn::app
