/// What is read off a whole trace follows it, for every model.

#include "app/session/readings.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/session/presets.hpp"
#include "app/session/session.hpp"
#include "tests/support/random_model.hpp"

namespace attn::app::test {
namespace {

TEST(Readings, FollowEveryTraceOfASession) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto first = session.get(facet::Readings{});
    ASSERT_TRUE(first->lens);
    EXPECT_EQ(first->lens->positions, session.wait()->trace->tokens.length);
    session.apply({command::SetTexts{{"the same words"}, {}}, ""});
    const auto second = session.get(facet::Readings{});
    EXPECT_NE(first, second);
    EXPECT_EQ(second->lens->positions, 3);
    EXPECT_EQ(second->of(Stack::Main)->rollouts.size(), static_cast<std::size_t>(session.wait()->trace->config.num_layers));
    EXPECT_EQ(second->of(Stack::Encoder), nullptr);
}

TEST(Readings, OfEveryKindOfModel) {
    int with_lens = 0, two_stacks = 0;
    for (unsigned seed = 0; seed < 30; ++seed) {
        const testing_support::RandomModel model(seed);
        const Readings readings = read_trace(std::make_shared<const Trace<float>>(model.trace<float>()), {});
        EXPECT_EQ(readings.lens.has_value(), model.config.lm_head);
        with_lens += readings.lens.has_value();
        const bool both = model.config.architecture == Architecture::EncoderDecoder;
        EXPECT_EQ(readings.totals.size(), both ? 2U : 1U);
        two_stacks += both;
    }
    EXPECT_GT(with_lens, 0);
    EXPECT_GT(two_stacks, 0);
}

/// The lens comes first, layer by layer; what is told last is all but the totals of the last stack.
TEST(Readings, AreToldWhileTheyAreRead) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto whole = session.get(facet::Readings{});
    std::size_t last = 0, rows = 0, of = 0;
    read_trace(session.wait()->trace, {}, [&](const Readings& so_far, std::size_t done, std::size_t total) {
        EXPECT_EQ(done, ++last);
        of = total;
        ASSERT_TRUE(so_far.lens);
        if (so_far.totals.empty()) rows = static_cast<std::size_t>(std::count(so_far.lens->known.begin(), so_far.lens->known.end(), 1));
    });
    EXPECT_EQ(rows, whole->lens->stages.size());
    EXPECT_GE(of, rows);
    EXPECT_GE(last, rows);
}

}  // namespace
}  // namespace attn::app::test
