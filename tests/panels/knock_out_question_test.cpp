/// What the worth of heads is measured by: the loss where it counts.

#include <gtest/gtest.h>

#include <cmath>

#include "app/session/document/presets.hpp"
#include "tests/support/interface_fixture.hpp"

namespace attn::app::test {
namespace {

class CountedTest : public InterfaceFixture {};

TEST_F(CountedTest, KnockOutMeasuresOnlyWhatCounts) {
    open_example("gpt-tiny");
    const Tensor<float>& chances = trace().find({Stage::Probabilities, -1})->value;
    const auto& tokens = trace().tokens;
    const auto loss_at = [&](std::int64_t t) {
        return -std::log(static_cast<double>(chances(0, t, tokens.ids[static_cast<std::size_t>(t + 1)])));
    };
    std::vector<std::uint8_t> counted(tokens.ids.size(), 0);
    counted[2] = counted[5] = 1;
    const auto worth = get(facet::KnockOut{KnockOutQuestion{{}, counted}});
    EXPECT_NEAR(worth->with_all, (loss_at(2) + loss_at(5)) / 2, 1e-4);
    EXPECT_TRUE(session->snapshot()->asked.empty()) << "no run says what counts";
    EXPECT_EQ(session->compute(facet::KnockOut{KnockOutQuestion{{}, {1, 0}}}).value, nullptr);
}

}  // namespace
}  // namespace attn::app::test
