/// What is read off a whole trace follows it, for every model.

#include "app/session/readings.hpp"

#include <gtest/gtest.h>

#include "app/session/analyst.hpp"
#include "app/session/presets.hpp"
#include "app/session/session.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app::test {
namespace {

TEST(Readings, FollowEveryTraceOfASession) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto first = session.wait(false);
    ASSERT_NE(first->readings, nullptr);
    ASSERT_TRUE(first->readings->lens);
    EXPECT_EQ(first->readings->lens->positions, first->trace->tokens.length);
    session.apply({command::SetTexts{{"the same words"}, {}}, ""});
    const auto second = session.wait(false);
    ASSERT_NE(second->readings, nullptr);
    EXPECT_NE(first->readings, second->readings);
    EXPECT_EQ(second->readings->lens->positions, 3);
    EXPECT_EQ(second->readings->of(Stack::Main)->rollouts.size(), static_cast<std::size_t>(second->trace->config.num_layers));
    EXPECT_EQ(second->readings->of(Stack::Encoder), nullptr);
}

/// While a run is followed they are of a few steps ago instead of coming and going.
TEST(Readings, StayWhileARunIsFollowed) {
    Session session(open_preset("gpt-tiny"), [] {});
    train(session);
    const auto trained = session.wait(false);
    const auto document = std::make_shared<const Document>(session.document());
    ASSERT_TRUE(document->trained);
    Analyst analyst(Computation::engine(), [] {});
    const auto at = [&](std::int64_t step) { return LearnedParameters{trained->run, {step, trained->trace->parameters}}; };
    analyst.request(document, at(24));
    const auto first = analyst.wait(false)->readings;
    ASSERT_NE(first, nullptr);
    analyst.request(document, at(25), Depth::Trace);
    const auto followed = analyst.wait(false);
    EXPECT_EQ(followed->trained_step, 25);
    EXPECT_EQ(followed->readings, first);
    EXPECT_LT(followed->read_serial, followed->serial) << "known to be of the trace before";
    analyst.request(document, at(26));
    const auto next = analyst.wait(false)->readings;
    ASSERT_NE(next, nullptr);
    EXPECT_NE(next, first) << "read anew with everything else";
    EXPECT_EQ(analyst.snapshot()->read_serial, analyst.snapshot()->serial);
    // Of another text they would be wrong.
    Document other = *document;
    other.texts = {"cab"};
    analyst.request(std::make_shared<const Document>(other), at(27), Depth::Trace);
    const auto changed = analyst.wait(false);
    EXPECT_EQ(changed->problem, "");
    EXPECT_EQ(changed->trained_step, 27);
    EXPECT_EQ(changed->readings, nullptr);
}

TEST(Readings, OfEveryKindOfModel) {
    int with_lens = 0, two_stacks = 0;
    for (unsigned seed = 0; seed < 30; ++seed) {
        const testing_support::RandomModel model(seed);
        const Readings readings = read_trace(model.trace<float>(), {});
        EXPECT_EQ(readings.lens.has_value(), model.config.lm_head);
        with_lens += readings.lens.has_value();
        const bool both = model.config.architecture == Architecture::EncoderDecoder;
        EXPECT_EQ(readings.totals.size(), both ? 2U : 1U);
        two_stacks += both;
    }
    EXPECT_GT(with_lens, 0);
    EXPECT_GT(two_stacks, 0);
}

}  // namespace
}  // namespace attn::app::test
