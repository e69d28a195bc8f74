/// The names of curves stand beside their own curves, and on no other.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "app/panels/train/curve_names.hpp"

namespace attn::app {
namespace {

constexpr float kGap = 4;

PlotArea area_of(float wide, float high, double x_end) {
    return {{50, 20}, {50 + wide, 20 + high}, {.lo = 0, .hi = x_end}, {.lo = 0, .hi = 1.02}};
}

/// The smallest distance between a curve, drawn point by point, and a box; 0 if it crosses it.
float distance(const PlotArea& area, const Curve& curve, const Box& box) {
    float least = 1e9F;
    const auto values = curve.raw().values();
    for (std::size_t i = 0; i + 1 < curve.size(); ++i)
        for (int k = 0; k <= 50; ++k) {
            const float share = static_cast<float>(k) / 50;
            const float x = std::lerp(area.at_x(curve.x()[i]), area.at_x(curve.x()[i + 1]), share);
            const float y = std::lerp(area.at_y(static_cast<double>(values[i])), area.at_y(static_cast<double>(values[i + 1])), share);
            const float dx = std::max({box.min.x - x, x - box.max.x, 0.F}), dy = std::max({box.min.y - y, y - box.max.y, 0.F});
            least = std::min(least, std::hypot(dx, dy));
        }
    return least;
}

/// A share that rises to `last` around the step `at`.
Curve rising(double at, double width, double last, double noise, std::uint64_t seed, int points = 60, double end = 1000) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> wobble(-noise, noise);
    Curve curve;
    for (int i = 0; i < points; ++i) {
        const double x = end * i / (points - 1);
        curve.append(x, static_cast<float>(std::clamp(last / (1 + std::exp(-(x - at) / width)) + wobble(random), 0.0, 1.0)));
    }
    return curve;
}

TEST(CurveNames, StandBesideTheirOwnCurvesAndOnNoOther) {
    std::size_t placed = 0, named = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        std::mt19937_64 random(seed);
        const auto between = [&](double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(random); };
        const PlotArea area = area_of(static_cast<float>(between(500, 1200)), static_cast<float>(between(120, 300)), between(1000, 1600));
        std::vector<Curve> curves;
        for (int i = 0; i < 14; ++i)
            curves.push_back(
                rising(between(100, 900), between(10, 120), i < 8 ? between(0.55, 1) : between(0.05, 0.4), 0.03, 100 * seed + i));
        std::vector<NamedCurve> all;
        for (std::size_t i = 0; i < curves.size(); ++i) {
            const bool has_name = i < 5;
            const auto values = curves[i].raw().values();
            const auto half = std::find_if(values.begin(), values.end(), [](float value) { return value > 0.5F; });
            const double at = curves[i].x()[static_cast<std::size_t>(std::min(half - values.begin(), values.end() - values.begin() - 1))];
            all.push_back({&curves[i], i < 8, has_name ? ImVec2{130, 17} : ImVec2{0, 0}, at});
        }
        const auto boxes = place_names(area, all, kGap);
        ASSERT_EQ(boxes.size(), all.size());
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            named += i < 5 ? 1 : 0;
            if (!boxes[i]) continue;
            ++placed;
            ASSERT_LT(i, 5U) << "a name that nobody asked for";
            EXPECT_LE(distance(area, curves[i], *boxes[i]), 1.5F * kGap) << "seed " << seed << ", curve " << i;
            EXPECT_GE(boxes[i]->min.x, area.min.x);
            EXPECT_LE(boxes[i]->max.x, area.max.x);
            for (std::size_t k = 0; k < all.size(); ++k) {
                if (all[k].bold) {
                    EXPECT_GT(distance(area, curves[k], *boxes[i]), 0.F) << "seed " << seed << ": " << i << " on " << k;
                }
                if (k == i || !boxes[k]) continue;
                const bool apart = boxes[i]->max.x <= boxes[k]->min.x || boxes[k]->max.x <= boxes[i]->min.x ||
                                   boxes[i]->max.y <= boxes[k]->min.y || boxes[k]->max.y <= boxes[i]->min.y;
                EXPECT_TRUE(apart) << "names " << i << " and " << k;
            }
        }
    }
    EXPECT_GT(placed, named / 2) << "most have a place";
}

TEST(CurveNames, AFaintCurveIsCoveredOnlyWhereNothingElseIsFree) {
    const PlotArea area = area_of(800, 200, 1000);
    const Curve head = rising(300, 30, 0.9, 0, 1), faint = rising(320, 30, 0.75, 0, 2);
    const auto boxes = place_names(area, std::vector<NamedCurve>{{&head, true, {120, 17}, 300}, {&faint, false}}, kGap);
    ASSERT_TRUE(boxes[0]);
    EXPECT_GT(distance(area, faint, *boxes[0]), 0.F);
    EXPECT_LE(distance(area, head, *boxes[0]), 1.5F * kGap);
    EXPECT_FALSE(boxes[1]);
    // Without any room there is no name.
    const PlotArea narrow = area_of(60, 12, 1000);
    EXPECT_FALSE(place_names(narrow, std::vector<NamedCurve>{{&head, true, {120, 17}, 300}}, kGap)[0]);
}

}  // namespace
}  // namespace attn::app
