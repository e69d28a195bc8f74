/// Which next tokens count: those that the run's task uses as targets, recovered from its texts.

#include "app/panels/views/asked_positions.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "app/session/document/presets.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tasks/dataset.hpp"
#include "tests/support/interface_fixture.hpp"

namespace attn::app::test {
namespace {

TEST(AskedPositions, AreTheTargetsOfTheTaskItself) {
    for (const TaskInfo& task : tasks()) {
        const TaskKind kind = task.kind;
        if (kind == TaskKind::FillIn) continue;  // its hidden words cannot be told from its texts
        const Dataset dataset(default_run(kind).task, 1);
        const Batch& batch = dataset.validation();
        const std::vector<std::string>& symbols = dataset.tokenizer().vocabulary();
        for (std::int64_t b = 0; b < std::min<std::int64_t>(batch.tokens.size(), 20); ++b) {
            std::vector<Token> tokens;
            const auto first = static_cast<std::size_t>(b * batch.tokens.length);
            const auto length = static_cast<std::size_t>(batch.tokens.lengths[static_cast<std::size_t>(b)]);
            for (std::size_t t = 0; t < length; ++t) {
                const std::int32_t id = batch.tokens.ids[first + t];
                tokens.push_back({symbols[static_cast<std::size_t>(id)], id, false, false});
            }
            const std::vector<std::uint8_t> asked = asked_positions(kind, tokens);
            ASSERT_EQ(asked.size(), length);
            for (std::size_t t = 0; t < length; ++t)
                EXPECT_EQ(asked[t] != 0, batch.targets[first + t] != kIgnoredTarget)
                    << task.title << " sequence " << b << " position " << t;
        }
    }
}

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
    with_context([](PanelContext& context) { EXPECT_TRUE(asked_positions(context).empty()) << "no run says what counts"; });
    EXPECT_EQ(session->compute(facet::KnockOut{KnockOutQuestion{{}, {1, 0}}}).value, nullptr);
}

}  // namespace
}  // namespace attn::app::test
