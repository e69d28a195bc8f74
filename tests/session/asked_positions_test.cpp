/// Which next tokens count: those that the run's task uses as targets, recovered from its texts.

#include "app/session/facets/asked_positions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/document/document.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tasks/dataset.hpp"

namespace attn::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

/// Two texts padded to six positions: only those of a run that adds are asked for what follows the "=".
TEST(AskedPositions, BelongToTheRunOfAState) {
    const std::vector<std::vector<Token>> texts = {
        {{"1", 1, false, false}, {"+", 2, false, false}, {"2", 3, false, false}, {"=", 4, false, false}, {"3", 5, false, false}},
        {{"1", 1, false, false}, {"+", 2, false, false}, {"1", 1, false, false}}};
    State state{std::make_shared<const app::Setup>(), MomentOfRun{1, 10, nullptr, TaskKind::Addition}};
    EXPECT_THAT(asked_positions(state, texts, 6), ElementsAre(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0));
    EXPECT_THAT(asked_positions(state, std::span(texts).last(1), 3), IsEmpty()) << "nothing is asked, so everything counts";
    std::get<MomentOfRun>(state.source).task.reset();
    EXPECT_THAT(asked_positions(state, texts, 6), IsEmpty());
    state.source = Drawn{};
    EXPECT_THAT(asked_positions(state, texts, 6), IsEmpty());
}

}  // namespace
}  // namespace attn::app
