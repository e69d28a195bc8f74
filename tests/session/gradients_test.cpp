/// The gradients of a state: of the next-token loss, for every stage, and absent without an output head.

#include <gtest/gtest.h>

#include <cmath>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/gradients.hpp"
#include "engine/trace/gradient_trace.hpp"

namespace attn::app {
namespace {

TEST(SnapshotGradients, AreOfPredictingTheNextToken) {
    Session session(open_preset("causal-attention"), [] {});
    const auto snapshot = session.wait();
    const auto gradients = session.get(facet::Gradients{});
    const Trace<float>& trace = *snapshot->trace;
    // The loss recomputed from the shown probabilities.
    const auto* probabilities = trace.find({Stage::Probabilities});
    ASSERT_NE(probabilities, nullptr);
    double loss = 0;
    std::int64_t counted = 0;
    for (std::int64_t b = 0; b < trace.tokens.size(); ++b)
        for (std::int64_t t = 0; t + 1 < trace.tokens.lengths[static_cast<std::size_t>(b)]; ++t) {
            loss -= std::log(static_cast<double>(
                probabilities->value(b, t, trace.tokens.ids[static_cast<std::size_t>(b * trace.tokens.length + t + 1)])));
            ++counted;
        }
    EXPECT_EQ(gradients->counted, counted);
    EXPECT_NEAR(gradients->loss, loss / static_cast<double>(counted), 1e-5);
}

TEST(SnapshotGradients, HaveTheShapeOfEveryStageButTheTokens) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto snapshot = session.wait();
    const auto gradients = session.get(facet::Gradients{});
    for (const auto& stage : snapshot->trace->stages) {
        const auto* gradient = gradients->find(stage.id);
        if (stage.id.stage == Stage::Tokens) {
            EXPECT_EQ(gradient, nullptr);
            continue;
        }
        ASSERT_NE(gradient, nullptr) << tensor_name(stage.id);
        EXPECT_EQ(gradient->value.shape().count(), stage.value.shape().count()) << tensor_name(stage.id);
    }
}

TEST(SnapshotGradients, AreAbsentWithoutAHead) {
    Session session(open_preset("self-attention"), [] {});
    const auto gradients = session.compute(facet::Gradients{});
    EXPECT_FALSE(gradients);
    EXPECT_EQ(gradients.problem, "there are no gradients: a model without an output head predicts nothing, so it has no loss");
}

TEST(SnapshotGradients, FollowTheText) {
    Session session(open_preset("causal-attention"), [] {});
    const double before = session.get(facet::Gradients{})->loss;
    session.apply({command::SetTexts{{"tired was it because mat the on sat cat the"}, {}}, ""});
    const double after = session.get(facet::Gradients{})->loss;
    EXPECT_FALSE(before == after);
    EXPECT_TRUE(std::isfinite(after));
}

}  // namespace
}  // namespace attn::app
