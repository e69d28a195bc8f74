/// Readings are consistent with the whole trace, for every model.

#include "app/session/facets/readings.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/session/document/presets.hpp"
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
    const auto totals = session.get(facet::Readings{ReadingKind::Totals});
    EXPECT_FALSE(totals->lens);
    EXPECT_EQ(totals->of(Stack::Main)->rollouts.size(), static_cast<std::size_t>(session.wait()->trace->config.num_layers));
    EXPECT_EQ(totals->of(Stack::Encoder), nullptr);
    EXPECT_TRUE(second->totals.empty());
}

TEST(Readings, OfEveryKindOfModel) {
    int with_lens = 0, two_stacks = 0;
    for (unsigned seed = 0; seed < 30; ++seed) {
        const testing_support::RandomModel model(seed);
        const auto trace = std::make_shared<const Trace<float>>(model.trace<float>());
        const Readings lens = read_trace(trace, ReadingKind::Lens, {}), readings = read_trace(trace, ReadingKind::Totals, {});
        EXPECT_EQ(lens.lens.has_value(), model.config.lm_head);
        with_lens += lens.lens.has_value();
        const bool both = model.config.architecture == Architecture::EncoderDecoder;
        EXPECT_EQ(readings.totals.size(), both ? 2U : 1U);
        two_stacks += both;
    }
    EXPECT_GT(with_lens, 0);
    EXPECT_GT(two_stacks, 0);
}

TEST(Readings, AreToldWhileTheyAreRead) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto whole = session.get(facet::Readings{});
    std::size_t last = 0, rows = 0;
    read_trace(session.wait()->trace, ReadingKind::Lens, {}, [&](const Readings& so_far, std::size_t done, std::size_t total) {
        EXPECT_EQ(done, ++last);
        EXPECT_EQ(total, whole->lens->stages.size());
        ASSERT_TRUE(so_far.lens);
        rows = static_cast<std::size_t>(std::count(so_far.lens->known.begin(), so_far.lens->known.end(), 1));
        EXPECT_EQ(rows, done);
    });
    EXPECT_EQ(rows, whole->lens->stages.size());
}

}  // namespace
}  // namespace attn::app::test
