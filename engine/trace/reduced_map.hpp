#pragma once
/// Attention maps of long texts at reduced resolution: one number stands for a block of cells. It is the unmasked cell of largest
/// magnitude, where infinities rank above finite numbers and NaN above infinities; of a number and its negative, the negative. A block is
/// masked if all its cells are.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn {

/// Cells [first_row, first_row + rows) x [first_col, first_col + cols) of a map, and the block size.
struct MapRegion {
    std::int64_t first_row = 0, rows = 0, first_col = 0, cols = 0;
    int level = 0;  ///< blocks of 2^level x 2^level cells, smaller at the far edges; 0: single cells
    bool operator==(const MapRegion&) const = default;

    std::int64_t block_rows() const { return rows == 0 ? 0 : ((rows - 1) >> level) + 1; }
    std::int64_t block_cols() const { return cols == 0 ? 0 : ((cols - 1) >> level) + 1; }
    bool holds(std::int64_t row, std::int64_t col) const {
        return row >= first_row && row < first_row + rows && col >= first_col && col < first_col + cols;
    }
};

/// How many unmasked cells are not finite.
struct NonFinite {
    std::int64_t nan = 0, infinite = 0;
    bool operator==(const NonFinite&) const = default;
};

struct ReducedMap {
    StageId id;
    MapRegion region;
    std::optional<std::int64_t> only_head{};  ///< of this head alone; none: of all heads, followed by their mean if `mean`
    bool mean = false;
    Tensor<float> values;               ///< [1,N,block_rows,block_cols]; a masked block is 0; at level 0 a masked cell is as recorded
    std::vector<std::uint8_t> keep;     ///< [block_rows,block_cols], 0: masked; empty if nothing is masked
    std::vector<NonFinite> non_finite;  ///< [N], counted in the region

    /// Index of a head in `values`; `heads`, the model's number of heads, stands for the mean. None if it is not included.
    std::optional<std::int64_t> place_of(std::int64_t head, std::int64_t heads) const {
        if (only_head) return head == *only_head ? std::optional<std::int64_t>(0) : std::nullopt;
        return head < heads || mean ? std::optional(head) : std::nullopt;
    }
    /// The block values of one of them.
    const float* numbers(std::int64_t place) const { return values.data() + place * region.block_rows() * region.block_cols(); }
};

/// The finest level at which `maps` maps [rows,cols] take at most `bytes`, or one block each.
int reduced_level(std::int64_t rows, std::int64_t cols, std::int64_t maps, std::int64_t bytes);

/// Reduces a map whose rows are given in order.
class MapReducer {
public:
    /// `heads` is the map's number of heads; only_head and mean as in ReducedMap. Throws Error if the region begins inside a block.
    MapReducer(const StageId& id, const MapRegion& region, std::int64_t heads, std::optional<std::int64_t> only_head = {},
               bool mean = false);
    /// [1,H,rows,S] of the positions from `first` on, and their mask (null: none), which must be the same for all heads.
    void add(const Tensor<float>& rows, const Mask* mask, std::int64_t first);
    ReducedMap take();

private:
    void add_rows_of(std::int64_t place, const float* rows, std::int64_t keys, const Mask* mask, std::int64_t first, std::int64_t count);

    ReducedMap map_;
    std::int64_t heads_;
    std::vector<std::uint32_t> orders_;  ///< [N,block_rows,block_cols], rank of the cell that represents each block so far
};

}  // namespace attn
