#include "app/widgets/color_options.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace attn::app {
namespace {

TEST(ColorOptions, DefaultsOfProbabilitiesAndSignedNumbers) {
    const HeatmapStyle probability = resolve_style({}, true, 0.1f, 0.4f);
    EXPECT_EQ(probability.map, ColorMap::Sequential);
    EXPECT_EQ(probability.lo, 0);
    EXPECT_EQ(probability.hi, 1);
    // With many keys a uniform weight would look black, so the range ends lower. With few keys it stays 0 to 1.
    EXPECT_EQ(resolve_style({}, true, 0, 1, 24).hi, 1);
    EXPECT_NEAR(resolve_style({}, true, 0, 1, 300).hi, 12.0 / 300, 1e-6);
    EXPECT_EQ(resolve_style({.range = RangeMode::UnitRange}, true, 0, 1, 300).hi, 1) << "who asks for 0 to 1 has it";
    EXPECT_NEAR(resolve_style({.range = RangeMode::Uniform}, true, 0, 1, 200).hi, 4.0 / 200, 1e-6);
    EXPECT_EQ(resolve_style({.range = RangeMode::Uniform}, true, 0, 1, 2).hi, 1);
    const HeatmapStyle signed_numbers = resolve_style({}, false, -2, 9.5f);
    EXPECT_EQ(signed_numbers.map, ColorMap::Diverging);
    EXPECT_EQ(signed_numbers.lo, -9.5f);
    EXPECT_EQ(signed_numbers.hi, 9.5f);
    EXPECT_FALSE(signed_numbers.per_row);
    EXPECT_FALSE(signed_numbers.log);
}

TEST(ColorOptions, EveryMode) {
    EXPECT_EQ(resolve_style({.map = ColorMap::Viridis, .range = RangeMode::Tensor}, false, -2, 5).lo, -2);
    EXPECT_EQ(resolve_style({.map = ColorMap::Viridis, .range = RangeMode::Tensor}, false, -2, 5).hi, 5);
    EXPECT_EQ(resolve_style({.range = RangeMode::Tensor}, false, -2, 5).lo, -5) << "a diverging bar stays symmetric";
    EXPECT_EQ(resolve_style({.range = RangeMode::Tensor}, true, 0.2f, 0.4f).hi, 0.4f);
    EXPECT_EQ(resolve_style({.range = RangeMode::UnitRange}, true, 0.2f, 0.4f).hi, 1);
    EXPECT_EQ(resolve_style({.map = ColorMap::Grey, .range = RangeMode::Symmetric}, true, 0.2f, 0.4f).lo, -0.4f);
    EXPECT_TRUE(resolve_style({.range = RangeMode::Row}, true, 0.2f, 0.4f).per_row);
    const HeatmapStyle manual =
        resolve_style({.map = ColorMap::Cividis, .range = RangeMode::Manual, .log = true, .lo = 7, .hi = 3}, false, 0, 1);
    EXPECT_EQ(manual.lo, 3) << "ends in the wrong order are put right";
    EXPECT_EQ(manual.hi, 7);
    EXPECT_TRUE(manual.log);
}

TEST(ColorOptions, AlwaysAUsableRange) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf(""), max = std::numeric_limits<float>::max();
    const float numbers[] = {0, -0.0f, 1, -1, 3e-42f, max, -max, inf, -inf, nan, 0.5f};
    for (const float lo : numbers) {
        for (const float hi : numbers) {
            for (int mode = 0; mode < kRangeModeCount; ++mode) {
                for (int map = 0; map < kColorMapCount; ++map) {
                    for (const bool probability : {false, true}) {
                        const ColorOptions options{
                            .map = static_cast<ColorMap>(map), .range = static_cast<RangeMode>(mode), .lo = lo, .hi = hi};
                        const HeatmapStyle style = resolve_style(options, probability, lo, hi);
                        EXPECT_TRUE(style.lo < style.hi) << lo << " " << hi << " mode " << mode;
                        EXPECT_TRUE(std::isfinite(style.lo) && std::isfinite(style.hi) && std::isfinite(style.hi - style.lo));
                        EXPECT_NE(style.map, ColorMap::Auto);
                        if (style.map == ColorMap::Diverging) {
                            EXPECT_EQ(style.lo, -style.hi);
                        }
                    }
                }
            }
        }
    }
}

TEST(ColorOptions, Words) {
    EXPECT_EQ(range_words({}, true), "0 to 1");
    EXPECT_EQ(range_words({}, true, 0.04F), "0 to 0.040") << "of many keys";
    EXPECT_EQ(range_words({.range = RangeMode::Uniform}, true, 0.01F), "to 4 × uniform");
    EXPECT_EQ(range_words({}, true, 1.4286F), "0 to 1.43") << "what dropout has stretched";
    EXPECT_EQ(range_words({.log = true}, false), "largest here, log");
    EXPECT_EQ(range_words({}, false, 14.37F, false, "of all heads"), "largest of all heads");
    EXPECT_EQ(range_words({.range = RangeMode::Row}, false), "each row");
}

/// Of a long text, nearly all differences of weights are as small as the weights.
TEST(ColorOptions, DifferencesOfWeightsOfLongTextsEndWhereTheWeightsDo) {
    const std::int64_t keys = 600;
    const HeatmapStyle short_text = resolve_style({}, false, -0.4F, 0.9F, kManyKeys),
                       long_text = resolve_style({}, false, -0.4F, 0.9F, keys);
    EXPECT_EQ(short_text.hi, 0.9F);
    EXPECT_EQ(long_text.hi, resolve_style({}, true, 0, 1, keys).hi);
    EXPECT_EQ(long_text.lo, -long_text.hi);
    EXPECT_EQ(resolve_style({}, false, -0.001F, 0.002F, keys).hi, 0.002F) << "all of them are smaller";
    ColorOptions chosen;
    chosen.range = RangeMode::Symmetric;
    EXPECT_EQ(resolve_style(chosen, false, -0.4F, 0.9F, keys).hi, 0.9F) << "the user wants the largest";
    EXPECT_EQ(range_words({}, false, long_text.hi, true), "± 0.020");
    EXPECT_EQ(range_words({}, false, 0.9F), "largest here");
}

}  // namespace
}  // namespace attn::app
