#include "app/session/numbers/heatmap_statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "app/widgets/tensor_stats.hpp"

namespace attn::app {
namespace {

TEST(Statistics, MatchPlainLoopsOnStridedMaskedData) {
    std::mt19937 random(11);
    for (int round = 0; round < 100; ++round) {
        const auto rows = static_cast<std::int64_t>(1 + random() % 20), cols = static_cast<std::int64_t>(1 + random() % 20);
        const std::int64_t stride = cols + static_cast<std::int64_t>(random() % 4);
        std::vector<float> values(static_cast<std::size_t>(rows * stride));
        std::vector<std::uint8_t> keep(static_cast<std::size_t>(rows * cols));
        std::normal_distribution<float> normal(3, 2);
        for (float& value : values)
            value = random() % 19 == 0 ? std::nanf("") : random() % 23 == 0 ? -std::numeric_limits<float>::infinity() : normal(random);
        for (std::uint8_t& k : keep) k = random() % 4 != 0;
        const bool masked = random() % 2 == 0;
        const TensorStatistics s = compute_statistics(
            {.values = values.data(), .rows = rows, .cols = cols, .row_stride = stride, .keep = masked ? keep.data() : nullptr});
        std::vector<double> kept;
        std::int64_t nan = 0, infinite = 0, out = 0;
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < cols; ++j) {
                const float value = values[static_cast<std::size_t>(i * stride + j)];
                if (masked && keep[static_cast<std::size_t>(i * cols + j)] == 0) ++out;
                else if (value != value) ++nan;
                else if (std::isinf(value)) ++infinite;
                else kept.push_back(value);
            }
        }
        EXPECT_EQ(s.count, static_cast<std::int64_t>(kept.size()));
        EXPECT_EQ(s.masked, out);
        EXPECT_EQ(s.nan, nan);
        EXPECT_EQ(s.infinite, infinite);
        EXPECT_EQ(std::accumulate(s.histogram.begin(), s.histogram.end(), std::int64_t{0}), s.count);
        if (kept.empty()) continue;
        EXPECT_EQ(s.min, static_cast<float>(*std::min_element(kept.begin(), kept.end())));
        EXPECT_EQ(s.max, static_cast<float>(*std::max_element(kept.begin(), kept.end())));
        const double mean = std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
        double variance = 0;
        for (const double v : kept) variance += (v - mean) * (v - mean) / static_cast<double>(kept.size());
        EXPECT_TRUE(std::abs(s.mean - mean) <= 1e-12 * (1 + std::abs(mean)));
        EXPECT_TRUE(std::abs(s.deviation - std::sqrt(variance)) <= 1e-12 * (1 + variance));
        EXPECT_GE(s.histogram.front(), 1);
        EXPECT_GE(s.histogram.back() + (s.min == s.max), 1);
    }
}

TEST(Statistics, ExtremesAndNothing) {
    const float max = std::numeric_limits<float>::max();
    const std::vector<float> wide{-max, max, 0};
    const TensorStatistics s = compute_statistics({.values = wide.data(), .rows = 1, .cols = 3, .row_stride = 3});
    EXPECT_TRUE(std::isfinite(s.deviation));
    EXPECT_EQ(s.histogram[0], 1);
    EXPECT_EQ(s.histogram[kHistogramBins / 2], 1);
    EXPECT_EQ(s.histogram[kHistogramBins - 1], 1);
    EXPECT_TRUE(compute_statistics(HeatmapData{}).empty());
    const std::vector<float> same(5, 2.5f);
    const TensorStatistics constant = compute_statistics({.values = same.data(), .rows = 5, .cols = 1, .row_stride = 1});
    EXPECT_EQ(constant.histogram[0], 5);
    EXPECT_EQ(constant.deviation, 0);
}

TEST(Statistics, Notes) {
    EXPECT_EQ(non_finite_note({}), "");
    EXPECT_EQ(non_finite_note({.nan = 3}), "3 NaN");
    EXPECT_EQ(non_finite_note({.nan = 1200, .infinite = 1}), "1,200 NaN, 1 ∞");
}

}  // namespace
}  // namespace attn::app
