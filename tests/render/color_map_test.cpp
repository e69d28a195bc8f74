#include "app/render/color_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace attn::app {
namespace {

constexpr HeatmapTheme kDark{true, 0xFF221C19, 0xFF3C322D, 0xFFEEEAE8, 1};
constexpr HeatmapTheme kLight{false, 0xFFFFFFFF, 0xFFE2DCD8, 0xFF1E1916, 1};
constexpr ColorMap kMaps[] = {ColorMap::Sequential, ColorMap::Diverging, ColorMap::Viridis, ColorMap::Cividis, ColorMap::Grey};

double luminance(std::uint32_t color) {
    const auto linear = [color](int shift) { return std::pow(static_cast<double>((color >> shift) & 0xFF) / 255, 2.2); };
    return 0.2126 * linear(0) + 0.7152 * linear(8) + 0.0722 * linear(16);
}

TEST(ColorMap, EndsAndMiddleAreThoseOfTheLook) {
    const ColorTable dark = color_table(ColorMap::Sequential, kDark), light = color_table(ColorMap::Sequential, kLight);
    EXPECT_EQ(dark.front(), kDark.pane);
    EXPECT_EQ(dark.back(), 0xFFFFF4E6U);
    EXPECT_EQ(light.front(), kLight.pane);
    EXPECT_EQ(light.back(), 0xFF592E0BU);
    for (const HeatmapTheme& theme : {kDark, kLight}) {
        const ColorTable signs = color_table(ColorMap::Diverging, theme);
        EXPECT_EQ(signs[kColorTableSize / 2], theme.pane);
        EXPECT_EQ(signs.front(), theme.dark ? 0xFFFF9B4CU : 0xFFD06F1FU);
        EXPECT_EQ(signs.back(), theme.dark ? 0xFF4D9AFFU : 0xFF1E69D2U);
    }
    EXPECT_EQ(color_index(0), 0);
    EXPECT_EQ(color_index(0.5F), kColorTableSize / 2);
    EXPECT_EQ(color_index(1), kColorTableSize - 1);
}

TEST(ColorMap, LightnessRisesOrFallsThroughoutAndOpposesAtBothSidesOfZero) {
    for (const HeatmapTheme& theme : {kDark, kLight})
        for (const ColorMap map : kMaps) {
            const ColorTable table = color_table(map, theme);
            const auto sign = [&](int from, int to) {
                const double rise = luminance(table[static_cast<std::size_t>(to)]) - luminance(table[static_cast<std::size_t>(from)]);
                return rise > 0 ? 1 : -1;
            };
            constexpr int kStep = (kColorTableSize - 1) / 16;
            for (int i = 0; i + kStep < kColorTableSize; i += kStep) {
                const bool lower_half = map == ColorMap::Diverging && i < kColorTableSize / 2;
                const bool on_paper = !theme.dark && map != ColorMap::Viridis && map != ColorMap::Cividis;
                EXPECT_EQ(sign(i, i + kStep), lower_half != on_paper ? -1 : 1) << "map " << static_cast<int>(map) << ' ' << i;
            }
        }
}

TEST(ColorMap, NeighboursDifferByOneAtMost) {
    // So small that rounding differences between processors are invisible.
    for (const HeatmapTheme& theme : {kDark, kLight})
        for (const ColorMap map : kMaps) {
            const ColorTable table = color_table(map, theme);
            int largest = 0;
            for (std::size_t i = 0; i + 1 < table.size(); ++i)
                for (const int shift : {0, 8, 16})
                    largest = std::max(
                        largest, std::abs(static_cast<int>((table[i] >> shift) & 0xFF) - static_cast<int>((table[i + 1] >> shift) & 0xFF)));
            EXPECT_LE(largest, 1) << "map " << static_cast<int>(map);
        }
}

TEST(ColorMap, AutoHasToBeResolvedFirst) { EXPECT_THROW(color_table(ColorMap::Auto, kDark), std::invalid_argument); }

}  // namespace
}  // namespace attn::app
