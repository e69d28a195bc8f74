/// The likeliest tokens of a row, against a plain sort.

#include "app/session/facets/likely_tokens.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/explanation.hpp"

namespace attn::app {
namespace {

Trace<float> trace_of(const char* preset) {
    Session session(open_preset(preset), [] {});
    return *session.wait()->trace;
}

Tensor<float>& probabilities_of(Trace<float>& trace) {
    for (RecordedStage<float>& stage : trace.stages)
        if (stage.id.stage == Stage::Probabilities) return stage.value;
    throw Error("there are no probabilities");
}

TEST(LikelyTokens, AreTheLargestOfTheRowInOrder) {
    Trace<float> trace = trace_of("gpt-tiny");
    const Tensor<float>& numbers = probabilities_of(trace);
    const std::int64_t count = numbers.shape()[2].size;
    for (std::int64_t t = 0; t < numbers.shape()[1].size; ++t)
        for (const Stage stage : {Stage::Logits, Stage::Probabilities}) {
            const std::vector<LikelyToken> found = likely_tokens(trace, {{stage, -1}, "", {0, t, 1, 0}});
            ASSERT_EQ(found.size(), std::min<std::size_t>(kMostLikelyTokens, static_cast<std::size_t>(count)));
            for (std::size_t i = 0; i < found.size(); ++i) {
                EXPECT_EQ(found[i].probability, numbers(0, t, found[i].id));
                std::size_t larger = 0;
                for (std::int64_t v = 0; v < count; ++v)
                    larger += numbers(0, t, v) > found[i].probability || (numbers(0, t, v) == found[i].probability && v < found[i].id);
                EXPECT_EQ(larger, i) << "position " << t;
            }
        }
}

TEST(LikelyTokens, NaNIsLastAndEqualOnesAreInOrder) {
    Trace<float> trace = trace_of("gpt-tiny");
    Tensor<float>& numbers = probabilities_of(trace);
    const std::int64_t count = numbers.shape()[2].size;
    ASSERT_GT(count, 4);
    for (std::int64_t v = 0; v < count; ++v) numbers(0, 1, v) = std::numeric_limits<float>::quiet_NaN();
    numbers(0, 1, 3) = numbers(0, 1, 2) = 0.5F;
    const std::vector<LikelyToken> found = likely_tokens(trace, {{Stage::Logits, -1}, "", {0, 1, 0, 0}});
    ASSERT_GE(found.size(), 4U);
    EXPECT_EQ(found[0], (LikelyToken{2, 0.5F}));
    EXPECT_EQ(found[1], (LikelyToken{3, 0.5F}));
    EXPECT_EQ(found[2].id, 0);
    EXPECT_TRUE(std::isnan(found[2].probability));
}

TEST(LikelyTokens, OfOtherStagesThereAreNone) {
    const Trace<float> trace = trace_of("gpt-tiny");
    EXPECT_TRUE(likely_tokens(trace, {{Stage::Q, 0}, "", {0, 0, 0, 0}}).empty());
    EXPECT_TRUE(likely_tokens(trace, {{Stage::Logits, -1}, "token_embedding.weight", {0, 0}}).empty());
    EXPECT_TRUE(likely_tokens(trace_of("self-attention"), {{Stage::Logits, -1}, "", {0, 0, 0, 0}}).empty());
}

TEST(LikelyTokens, ComeWithTheExplanation) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto snapshot = session.wait();
    const CellRef cell{{Stage::Probabilities, -1}, "", {0, 1, 0, 0}};
    EXPECT_EQ(session.get(facet::Explanation{cell})->likely_next, likely_tokens(*snapshot->trace, cell));
    EXPECT_FALSE(session.get(facet::Explanation{cell})->likely_next.empty());
}

}  // namespace
}  // namespace attn::app
