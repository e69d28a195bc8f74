#include "engine/trace/stage_range.hpp"

#include <gtest/gtest.h>

#include <limits>

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

TEST(StageRange, SaysThatThereIsNothing) {
    const StageRange range = stage_range(map_of({kNan, kInf, -kInf, kNan}, nullptr));
    EXPECT_EQ(range.finite, 0);
    EXPECT_EQ(range.lo, 0);
    EXPECT_EQ(range.hi, 0);
}

}  // namespace
}  // namespace attn
