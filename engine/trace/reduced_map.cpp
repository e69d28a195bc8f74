#include "engine/trace/reduced_map.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn {
namespace {

constexpr std::uint32_t kMaskedOrder = 0, kInfiniteOrder = 0xFF000001, kNanOrder = 0xFF800001;

/// Rank of a cell: the highest in a block represents it.
std::uint32_t order_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return (bits & 0x7FFFFFFFU) > 0x7F800000U ? kNanOrder : std::rotl(bits, 1) + 1U;
}

float number_of(std::uint32_t order) { return order == kMaskedOrder ? 0.F : std::bit_cast<float>(std::rotr(order - 1U, 1)); }

/// Replaces every 2^level neighbours by their largest, compacting to the front.
void shrink_orders(std::vector<std::uint32_t>& orders, int level) {
    std::size_t left = orders.size();
    for (; level > 0; --level) {
        for (std::size_t i = 0; i < left / 2; ++i) orders[i] = std::max(orders[2 * i], orders[2 * i + 1]);
        if (left % 2 != 0) orders[left / 2] = orders[left - 1];
        left = (left + 1) / 2;
    }
}

void take_orders(std::vector<std::uint32_t>& orders, const float* values, const std::uint8_t* keep) {
    const std::size_t count = orders.size();
    if (keep == nullptr)
        for (std::size_t i = 0; i < count; ++i) orders[i] = order_of(values[i]);
    else
        for (std::size_t i = 0; i < count; ++i) orders[i] = order_of(values[i]) & (keep[i] != 0 ? 0xFFFFFFFFU : 0U);
}

NonFinite non_finite_in(const float* values, const std::uint8_t* keep, std::int64_t count) {
    NonFinite found;
    for (std::int64_t i = 0; i < count; ++i) {
        if (keep != nullptr && keep[i] == 0) continue;
        found.nan += std::isnan(values[i]) ? 1 : 0;
        found.infinite += std::isinf(values[i]) ? 1 : 0;
    }
    return found;
}

bool is_inside_block(std::int64_t first, int level) { return first % (std::int64_t{1} << level) != 0; }

}  // namespace

int reduced_level(std::int64_t rows, std::int64_t cols, std::int64_t maps, std::int64_t bytes) {
    MapRegion all{0, rows, 0, cols, 0};
    const std::int64_t most = std::max<std::int64_t>(bytes / static_cast<std::int64_t>(sizeof(float)) / std::max<std::int64_t>(maps, 1), 1);
    while (all.block_rows() * all.block_cols() > most) ++all.level;
    return all.level;
}

MapReducer::MapReducer(const StageId& id, const MapRegion& region, std::int64_t heads, std::optional<std::int64_t> only_head, bool mean)
    : heads_(heads) {
    if (is_inside_block(region.first_row, region.level) || is_inside_block(region.first_col, region.level))
        throw Error("a reduced map of " + tensor_name(id) + " begins inside a block");
    const std::int64_t maps = only_head ? 1 : heads + (mean ? 1 : 0);
    map_.id = id;
    map_.region = region;
    map_.only_head = only_head;
    map_.mean = mean && !only_head;
    map_.values = Tensor<float>({{Axis::B, 1}, {Axis::H, maps}, {Axis::T, region.block_rows()}, {Axis::S, region.block_cols()}});
    map_.keep.assign(static_cast<std::size_t>(region.block_rows() * region.block_cols()), 0);
    map_.non_finite.resize(static_cast<std::size_t>(maps));
    if (region.level > 0) orders_.assign(static_cast<std::size_t>(map_.values.size()), kMaskedOrder);
}

void MapReducer::add_rows_of(std::int64_t place, const float* rows, std::int64_t keys, const Mask* mask, std::int64_t first,
                             std::int64_t count) {
    const MapRegion& region = map_.region;
    const std::int64_t blocks = region.block_cols();
    std::vector<std::uint32_t> orders(static_cast<std::size_t>(region.cols));
    for (std::int64_t row = std::max(first, region.first_row); row < std::min(first + count, region.first_row + region.rows); ++row) {
        const float* values = rows + (row - first) * keys + region.first_col;
        const std::uint8_t* keep = mask == nullptr ? nullptr : mask->keep_row(0, 0, row - first) + region.first_col;
        orders.resize(static_cast<std::size_t>(region.cols));
        take_orders(orders, values, keep);
        if (*std::max_element(orders.begin(), orders.end()) >= kInfiniteOrder) {
            const NonFinite found = non_finite_in(values, keep, region.cols);
            map_.non_finite[static_cast<std::size_t>(place)].nan += found.nan;
            map_.non_finite[static_cast<std::size_t>(place)].infinite += found.infinite;
        }
        const std::int64_t at = (row - region.first_row) >> region.level, out = (place * region.block_rows() + at) * blocks;
        if (region.level == 0) {
            std::copy_n(values, blocks, map_.values.data() + out);
        } else {
            shrink_orders(orders, region.level);
            for (std::int64_t i = 0; i < blocks; ++i)
                orders_[static_cast<std::size_t>(out + i)] =
                    std::max(orders_[static_cast<std::size_t>(out + i)], orders[static_cast<std::size_t>(i)]);
        }
        if (place != 0) continue;
        for (std::int64_t i = 0; i < blocks; ++i)
            map_.keep[static_cast<std::size_t>(at * blocks + i)] |= orders[static_cast<std::size_t>(i)] != kMaskedOrder;
    }
}

void MapReducer::add(const Tensor<float>& rows, const Mask* mask, std::int64_t first) {
    const std::int64_t count = rows.shape()[2].size, keys = rows.shape()[3].size, map = count * keys;
    const MapRegion& region = map_.region;
    if (region.cols == 0 || first >= region.first_row + region.rows || first + count <= region.first_row) return;
    if (map_.only_head) return add_rows_of(0, rows.data() + *map_.only_head * map, keys, mask, first, count);
    parallel_for(heads_, 2 * map, [&](std::int64_t head) { add_rows_of(head, rows.data() + head * map, keys, mask, first, count); });
    if (map_.mean) add_rows_of(heads_, head_mean({map_.id, rows}).data(), keys, mask, first, count);
}

ReducedMap MapReducer::take() {
    std::transform(orders_.begin(), orders_.end(), map_.values.data(), number_of);
    const bool any_masked = std::find(map_.keep.begin(), map_.keep.end(), 0) != map_.keep.end();
    if (!any_masked) map_.keep.clear();
    orders_.clear();
    return std::move(map_);
}

}  // namespace attn
