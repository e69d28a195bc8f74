/// The texture of a reduced map equals that of the full map.

#include <gtest/gtest.h>

#include <random>

#include "app/render/cell_tiles.hpp"
#include "engine/trace/reduced_map.hpp"

namespace attn::app {
namespace {

struct WholeAndReduced {
    Tensor<float> cells;
    Mask mask;
    ReducedMap map;
    HeatmapData whole, reduced;

    WholeAndReduced(std::mt19937& random, std::int64_t rows, std::int64_t cols, int level)
        : cells({{Axis::B, 1}, {Axis::H, 1}, {Axis::T, rows}, {Axis::S, cols}}) {
        std::normal_distribution<float> normal;
        for (float& cell : cells.values()) cell = normal(random);
        mask = Mask::from_rule(rows, cols, [](auto t, auto s) { return s <= t; });
        MapReducer reducer({Stage::Weights, 0}, {0, rows, 0, cols, level}, 1);
        reducer.add(cells, &mask, 0);
        map = reducer.take();
        whole = {.key = 1, .values = cells.data(), .rows = rows, .cols = cols, .row_stride = cols, .keep = mask.keep_row(0, 0, 0)};
        reduced = {.key = 2,
                   .values = map.numbers(0),
                   .rows = rows,
                   .cols = cols,
                   .row_stride = map.region.block_cols(),
                   .keep = map.keep.empty() ? nullptr : map.keep.data(),
                   .level = level};
    }
};

TEST(ReducedTiles, HaveTheTexelsOfTheWholeMap) {
    std::mt19937 random(11);
    const auto between = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
    for (int i = 0; i < 200; ++i) {
        SCOPED_TRACE(i);
        const int level = between(1, 4);
        const WholeAndReduced both(random, between(1, 70), between(1, 70), level);
        const TilePlace place{between(level, 6), between(level, 6), 0, 0};
        const CellTile expected = build_tile(both.whole, {}, place), found = build_tile(both.reduced, {}, place);
        EXPECT_EQ(expected.codes, found.codes);
        EXPECT_EQ(expected.width, found.width);
        EXPECT_EQ(expected.height, found.height);
        EXPECT_EQ(expected.first_x, found.first_x);
    }
}

TEST(ReducedTiles, AWrongBlockIsSeen) {
    std::mt19937 random(12);
    WholeAndReduced both(random, 40, 40, 2);
    both.map.values.data()[55] = 9;
    EXPECT_NE(build_tile(both.whole, {}, {2, 2, 0, 0}).codes, build_tile(both.reduced, {}, {2, 2, 0, 0}).codes);
}

TEST(ReducedTiles, AreNeverFinerThanWhatIsThere) {
    for (int least = 0; least < 5; ++least)
        for (const double cells : {0.01, 0.9, 1.1, 3.0, 17.0, 900.0}) {
            const AxisLevel free = axis_level(cells), bound = axis_level(cells, least);
            EXPECT_EQ(bound.level, std::max(free.level, least)) << cells;
            EXPECT_LE(cells / bound.samples, std::ldexp(1.0, bound.level));
        }
}

}  // namespace
}  // namespace attn::app
