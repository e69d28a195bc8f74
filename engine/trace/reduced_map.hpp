#pragma once
/// Attention maps of long texts, smaller: a number stands for a block of cells. Of a block it is the one of largest magnitude that may be
/// attended to, infinities above all numbers and what is no number above those, of a number and its negative the negative. A block is
/// masked where all of it is.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn {

/// Cells [first_row, first_row + rows) x [first_col, first_col + cols) of a map, and how large a block is.
struct MapRegion {
    std::int64_t first_row = 0, rows = 0, first_col = 0, cols = 0;
    int level = 0;  ///< a block has 2^level x 2^level cells, the last ones fewer; 0: every number
    bool operator==(const MapRegion&) const = default;

    std::int64_t block_rows() const { return rows == 0 ? 0 : ((rows - 1) >> level) + 1; }
    std::int64_t block_cols() const { return cols == 0 ? 0 : ((cols - 1) >> level) + 1; }
    bool holds(std::int64_t row, std::int64_t col) const {
        return row >= first_row && row < first_row + rows && col >= first_col && col < first_col + cols;
    }
};

/// How many cells of a map that may be attended to are no numbers.
struct NonFinite {
    std::int64_t nan = 0, infinite = 0;
    bool operator==(const NonFinite&) const = default;
};

struct ReducedMap {
    StageId id;
    MapRegion region;
    std::optional<std::int64_t> only_head{};  ///< of this head alone; else of all, and where `mean` behind them of their mean
    bool mean = false;
    Tensor<float> values;               ///< [1,N,block_rows,block_cols]; a masked block is 0, a masked cell as it was recorded
    std::vector<std::uint8_t> keep;     ///< [block_rows, block_cols], 0: masked; empty where nothing is
    std::vector<NonFinite> non_finite;  ///< [N], in the region

    /// Where a head lies in `values`, `heads` (the model's) for the mean; none where it is not there.
    std::optional<std::int64_t> place_of(std::int64_t head, std::int64_t heads) const {
        if (only_head) return head == *only_head ? std::optional<std::int64_t>(0) : std::nullopt;
        return head < heads || mean ? std::optional(head) : std::nullopt;
    }
    /// Block numbers of one of them.
    const float* numbers(std::int64_t place) const { return values.data() + place * region.block_rows() * region.block_cols(); }
};

/// The finest level at which `maps` maps [rows, cols] take at most `bytes`, or one block each.
int reduced_level(std::int64_t rows, std::int64_t cols, std::int64_t maps, std::int64_t bytes);

/// Reduces a map whose rows come in their order.
class MapReducer {
public:
    /// Of a map of `heads` heads; `only_head` and `mean` as in ReducedMap. Throws Error for a region that begins inside a block.
    MapReducer(const StageId& id, const MapRegion& region, std::int64_t heads, std::optional<std::int64_t> only_head = {},
               bool mean = false);
    /// [1,H,rows,S] of the positions from `first` on, and their mask (null: none), which has to be one for all heads.
    void add(const Tensor<float>& rows, const Mask* mask, std::int64_t first);
    ReducedMap take();

private:
    void add_rows_of(std::int64_t place, const float* rows, std::int64_t keys, const Mask* mask, std::int64_t first, std::int64_t count);

    ReducedMap map_;
    std::int64_t heads_;
    std::vector<std::uint32_t> orders_;  ///< [N, block_rows, block_cols], of the cells that stand for the blocks so far
};

}  // namespace attn
