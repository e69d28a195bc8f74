#include "engine/trace/stage_range.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace attn {
namespace {

RecordedStage<float> map_of(std::vector<float> values, std::shared_ptr<const Mask> mask) {
    RecordedStage<float> stage;
    stage.id = {Stage::Masked, 0};
    stage.value = Tensor<float>({{Axis::B, 1}, {Axis::H, 1}, {Axis::T, 2}, {Axis::S, 2}});
    std::copy(values.begin(), values.end(), stage.value.data());
    stage.mask = std::move(mask);
    return stage;
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(StageRange, LeavesMaskedAndNonFiniteNumbersOut) {
    const StageRange range = stage_range(map_of({-3, -kInf, kNan, 2}, std::make_shared<Mask>(Mask::causal(2, 2))));
    EXPECT_EQ(range.lo, -3);
    EXPECT_EQ(range.hi, 2);
    EXPECT_EQ(range.finite, 2);
}

TEST(StageRange, CountsWhatAMaskKeeps) {
    EXPECT_EQ(stage_range(map_of({1, 100, 2, 3}, std::make_shared<Mask>(Mask::causal(2, 2)))).hi, 3);
    EXPECT_EQ(stage_range(map_of({1, 100, 2, 3}, nullptr)).hi, 100);
}

TEST(StageRange, IsThatOfAPlainLoopForEverySize) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(1, 2);
    for (int round = 0; round < 200; ++round) {
        const auto heads = static_cast<std::int64_t>(1 + random() % 3), queries = static_cast<std::int64_t>(1 + random() % 9),
                   keys = static_cast<std::int64_t>(1 + random() % 40);
        RecordedStage<float> stage{{Stage::Masked, 0},
                                   Tensor<float>({{Axis::B, 1}, {Axis::H, heads}, {Axis::T, queries}, {Axis::S, keys}})};
        for (float& value : stage.value.values()) value = random() % 11 == 0 ? kNan : random() % 13 == 0 ? -kInf : normal(random);
        if (round % 2 == 0)
            stage.mask =
                std::make_shared<Mask>(Mask::from_rule(queries, keys, [&](std::int64_t, std::int64_t) { return random() % 3 != 0; }));
        StageRange expected;
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t t = 0; t < queries; ++t)
                for (std::int64_t s = 0; s < keys; ++s) {
                    const float value = stage.value(0, h, t, s);
                    if (!std::isfinite(value) || (stage.mask != nullptr && !stage.mask->may_attend(0, h, t, s))) continue;
                    expected.lo = expected.finite == 0 ? value : std::min(expected.lo, value);
                    expected.hi = expected.finite == 0 ? value : std::max(expected.hi, value);
                    ++expected.finite;
                }
        const StageRange found = stage_range(stage);
        EXPECT_EQ(found.lo, expected.lo);
        EXPECT_EQ(found.hi, expected.hi);
        EXPECT_EQ(found.finite, expected.finite);
    }
}

TEST(StageRange, SaysThatThereIsNothing) {
    const StageRange range = stage_range(map_of({kNan, kInf, -kInf, kNan}, nullptr));
    EXPECT_EQ(range.finite, 0);
    EXPECT_EQ(range.lo, 0);
    EXPECT_EQ(range.hi, 0);
}

}  // namespace
}  // namespace attn
