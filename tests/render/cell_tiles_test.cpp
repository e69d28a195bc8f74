#include "app/render/cell_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "app/render/cell_code.hpp"
#include "app/widgets/value_scale.hpp"

namespace attn::app {
namespace {

/// The value of a code other than kMaskedCell: undoes cell_code(), as the header describes the code.
float cell_value(std::uint32_t code) { return std::bit_cast<float>(std::rotr(code - 1U, 1)); }

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(CellCode, OrdersByMagnitudeWithMaskedLowestAndNanHighest) {
    const float rising[] = {0.0F, 1e-45F, -1e-40F, 1e-20F, -0.5F, 0.75F, -1, 2, 3.4e38F, kInfinity};
    for (std::size_t i = 0; i + 1 < std::size(rising); ++i) EXPECT_LT(cell_code(rising[i]), cell_code(rising[i + 1])) << i;
    EXPECT_LT(kMaskedCell, cell_code(0.0F));
    EXPECT_LT(kMaskedCell, cell_code(-0.0F));
    for (const float nan : {std::nanf(""), -std::nanf(""), std::nanf("123")}) {
        EXPECT_EQ(cell_code(nan), kNanCell);
        EXPECT_GT(cell_code(nan), cell_code(-kInfinity));
    }
    for (const float v : rising) {
        EXPECT_EQ(cell_value(cell_code(v)), v);
        EXPECT_EQ(cell_value(cell_code(-v)), -v);
    }
    EXPECT_TRUE(std::isnan(cell_value(kNanCell)));
}

TEST(AxisLevel, SamplesAreNeverFurtherApartThanATexel) {
    std::mt19937 generator(1);
    std::uniform_real_distribution<double> exponent(-8, 16);
    for (int i = 0; i < 1000; ++i) {
        const double cells_per_pixel = std::exp2(exponent(generator));
        const AxisLevel axis = axis_level(cells_per_pixel);
        const double texel = std::ldexp(1.0, axis.level);
        EXPECT_LE(cells_per_pixel / axis.samples, texel);
        // Nor are texels larger than necessary.
        EXPECT_TRUE(axis.level == 0 || texel < 2 * cells_per_pixel / axis.samples) << cells_per_pixel;
    }
}

/// The code of a texel, computed directly from the definition.
std::uint32_t block_code(const HeatmapData& data, const TilePlace& place, std::int64_t texel_row, std::int64_t texel_col) {
    std::uint32_t code = kMaskedCell;
    for (std::int64_t row = 0; row < data.rows; ++row)
        for (std::int64_t col = 0; col < data.cols; ++col) {
            if (row / (std::int64_t{1} << place.level_y) != texel_row || col / (std::int64_t{1} << place.level_x) != texel_col) continue;
            if (data.keep[row * data.cols + col] != 0) code = std::max(code, cell_code(data.values[row * data.row_stride + col]));
        }
    return code;
}

TEST(CellTiles, EveryTexelIsTheLargestOfItsBlock) {
    std::mt19937 generator(2);
    std::normal_distribution<float> number(0, 1);
    for (const auto& [rows, cols] : {std::pair{1, 1}, {1, 9}, {7, 1}, {5, 6}, {8, 16}, {13, 31}}) {
        const std::int64_t stride = cols + 3;
        std::vector<float> values(static_cast<std::size_t>(rows * stride));
        std::vector<std::uint8_t> keep(static_cast<std::size_t>(rows * cols));
        for (float& v : values) v = generator() % 20 == 0 ? std::nanf("") : number(generator);
        for (std::uint8_t& k : keep) k = generator() % 3 != 0 ? 1 : 0;
        const HeatmapData data{1, values.data(), rows, cols, stride, keep.data()};
        for (int level_x = 0; level_x < 6; ++level_x)
            for (int level_y = 0; level_y < 5; ++level_y) {
                const TilePlace place{level_x, level_y, 0, 0};
                const CellTile tile = build_tile(data, {}, place);
                ASSERT_EQ(tile.width, (cols - 1) / (1 << level_x) + 1);
                ASSERT_EQ(tile.height, (rows - 1) / (1 << level_y) + 1);
                for (int y = 0; y < tile.height; ++y)
                    for (int x = 0; x < tile.width; ++x)
                        ASSERT_EQ(tile.codes[static_cast<std::size_t>(y * tile.width + x)], block_code(data, place, y, x))
                            << rows << " x " << cols << " level " << level_x << ' ' << level_y << " at " << y << ' ' << x;
            }
    }
}

TEST(CellTiles, NeighboursShareABorder) {
    const std::int64_t cols = 2 * kTileTexels + 5;
    std::vector<float> values(static_cast<std::size_t>(2 * cols));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const HeatmapData data{1, values.data(), 2, cols, cols, nullptr};
    const CellTile middle = build_tile(data, {}, {0, 0, 1, 0}), last = build_tile(data, {}, {0, 0, 2, 0});
    EXPECT_EQ(middle.first_x, kTileTexels - 1);
    EXPECT_EQ(middle.width, kTileTexels + 2);
    EXPECT_EQ(last.first_x, 2 * kTileTexels - 1);
    EXPECT_EQ(last.width, 6);
    EXPECT_EQ(last.codes[0], middle.codes[static_cast<std::size_t>(middle.width) - 2]);
    EXPECT_EQ(cell_value(last.codes[6 + 5]), static_cast<float>(2 * cols - 1));
}

TEST(ValueScale, PlacesAndValuesAreInverse) {
    for (const ColorMap map : {ColorMap::Sequential, ColorMap::Diverging})
        for (const bool log : {false, true})
            for (const auto& [lo, hi] : {std::pair{0.0F, 1.0F}, {-3.0F, 3.0F}, {1e-6F, 2.0F}, {-2e30F, 1e30F}, {1e-30F, 3e-30F}}) {
                const HeatmapStyle style{map, lo, hi, false, log};
                // Half a unit in the last place of `lo`, times the slope of the logarithm where it is steepest.
                const double tolerance = 0x1p-24 * kLogReach / std::log1p(kLogReach) + 1e-6;
                float before = -kInfinity;
                for (int i = 0; i <= 50; ++i) {
                    const float place = static_cast<float>(i) / 50, value = value_at(style, place);
                    EXPECT_GT(value, before);
                    EXPECT_LE(std::abs(place_of(value_scale(style), value) - place), tolerance)
                        << lo << ' ' << hi << ' ' << log << ' ' << place;
                    before = value;
                }
            }
}

TEST(ValueScale, NothingOfItIsEverNan) {
    const float odd[] = {0, 1e-45F, -1e-45F, 1, -1, 3.4e38F, -3.4e38F, kInfinity, -kInfinity};
    for (const ColorMap map : {ColorMap::Sequential, ColorMap::Diverging})
        for (const bool log : {false, true})
            for (const float lo : odd)
                for (const float hi : odd)
                    for (const float v : odd) {
                        const float place = place_of(value_scale({map, lo, hi, false, log}), v);
                        EXPECT_TRUE(place >= 0 && place <= 1) << lo << ' ' << hi << ' ' << v << ' ' << log;
                    }
}

TEST(ValueScale, ARowsRangeLeavesOutMaskedAndStrangeNumbers) {
    const float values[] = {5, -2, std::nanf(""), kInfinity, 100, /* */ 1, 1, 1, 1, 1};
    const std::uint8_t keep[] = {1, 1, 1, 1, 0, /* */ 0, 0, 0, 0, 0};
    const HeatmapData data{1, values, 2, 5, 5, keep};
    const HeatmapStyle sequential = row_style(data, {ColorMap::Sequential, 0, 1, true}, 0);
    EXPECT_EQ(sequential, (HeatmapStyle{ColorMap::Sequential, -2, 5, false}));
    EXPECT_EQ(row_style(data, {ColorMap::Diverging, 0, 1, true}, 0), (HeatmapStyle{ColorMap::Diverging, -5, 5, false}));
    EXPECT_EQ(row_style(data, {ColorMap::Sequential, 0, 1, true}, 1), (HeatmapStyle{ColorMap::Sequential, 0, 0, false}));
    EXPECT_EQ(row_style(data, {ColorMap::Sequential, 0, 1, false}, 0), (HeatmapStyle{ColorMap::Sequential, 0, 1, false}));
}

}  // namespace
}  // namespace attn::app
