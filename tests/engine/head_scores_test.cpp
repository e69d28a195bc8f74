#include "engine/trace/head_scores.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace attn {
namespace {

/// A trace with a single weights stage of one sequence and one head.
Trace<float> weights_trace(const std::vector<std::vector<float>>& rows, std::vector<std::int32_t> ids, std::int64_t length) {
    const auto positions = static_cast<std::int64_t>(rows.size());
    Trace<float> trace;
    trace.tokens = {positions, std::move(ids), {length}};
    Tensor<float> weights({{Axis::B, 1}, {Axis::H, 1}, {Axis::T, positions}, {Axis::S, positions}});
    for (std::int64_t t = 0; t < positions; ++t)
        for (std::int64_t s = 0; s < positions; ++s) weights(0, 0, t, s) = rows[static_cast<std::size_t>(t)][static_cast<std::size_t>(s)];
    trace.stages.push_back({{Stage::Weights, 0}, std::move(weights), std::make_shared<Mask>(Mask::causal(positions, positions))});
    return trace;
}

TEST(HeadScores, RecognisesAPreviousTokenHead) {
    const auto scores = head_scores(weights_trace({{1, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {4, 5, 6}, 3));
    ASSERT_EQ(scores.size(), 1U);
    EXPECT_DOUBLE_EQ(scores[0].previous_token, 1);
    EXPECT_DOUBLE_EQ(scores[0].first_token, 0.5);
    EXPECT_DOUBLE_EQ(scores[0].same_token, 0);
    EXPECT_DOUBLE_EQ(scores[0].entropy, 0);
    EXPECT_DOUBLE_EQ(scores[0].distance, 2.0 / 3.0);
    EXPECT_EQ(scores[0].induction_rows, 0);
}

TEST(HeadScores, RecognisesInduction) {
    // a b a: the second a may attend to the b after the first.
    const auto scores = head_scores(weights_trace({{1, 0, 0}, {0.5F, 0.5F, 0}, {0.25F, 0.75F, 0}}, {4, 5, 4}, 3));
    EXPECT_EQ(scores[0].induction_rows, 1);
    EXPECT_DOUBLE_EQ(scores[0].induction, 0.75);
}

TEST(HeadScores, EntropyOfAUniformRowIsTheLogOfItsLength) {
    const auto scores = head_scores(weights_trace({{1, 0}, {0.5F, 0.5F}}, {1, 2}, 2));
    EXPECT_NEAR(scores[0].entropy, std::log(2.0) / 2, 1e-12);
}

TEST(HeadScores, LeavesPaddingOut) {
    const auto scores = head_scores(weights_trace({{1, 0, 0}, {1, 0, 0}, {0, 0, 1}}, {4, 5, 0}, 2));
    EXPECT_EQ(scores[0].rows, 2);
    EXPECT_DOUBLE_EQ(scores[0].same_token, 0);
}

TEST(HeadScores, AlignmentIsHighWhereEachQueryHasAKeyOfItsOwnInAnotherText) {
    const auto alignment = [](const std::vector<std::vector<float>>& rows, std::int64_t queries) {
        Trace<float> trace = weights_trace(rows, std::vector<std::int32_t>(rows.size(), 4), queries);
        EXPECT_DOUBLE_EQ(head_scores(trace)[0].alignment, 0) << "of self-attention it says nothing";
        trace.stages[0].id.attention = kCrossAttention;
        trace.stages[0].mask = nullptr;
        const HeadScore score = head_scores(trace)[0];
        EXPECT_EQ(score.rows, queries);
        EXPECT_EQ(score.first_token, 0);
        return score.alignment;
    };
    EXPECT_NEAR(alignment({{0.1F, 0.9F, 0}, {0.5F, 0.25F, 0.25F}, {0, 0, 1}}, 2), (0.9 + 0.5) / 2, 1e-7)
        << "without the row of the padding";
    EXPECT_NEAR(alignment({{0, 0, 1}, {1, 0, 0}, {0, 1, 0}}, 3), 1, 1e-7) << "in whatever order";
    EXPECT_NEAR(alignment({{0, 0, 1}, {0.1F, 0, 0.9F}, {0, 0, 1}}, 3), 1.0 / 3, 1e-7) << "a sink is no alignment";
}

TEST(HeadScores, MaskedKeysOfAnotherTextNeedNoQuery) {
    Trace<float> trace = weights_trace({{1, 0, 0}, {0, 1, 0}, {0, 1, 0}}, {4, 5, 6}, 3);
    trace.stages[0].id.attention = kCrossAttention;
    trace.stages[0].mask = std::make_shared<Mask>(Mask::padding({2}, 3, 3));
    EXPECT_NEAR(head_scores(trace)[0].alignment, 1, 1e-7);
    trace.stages[0].mask = nullptr;
    EXPECT_NEAR(head_scores(trace)[0].alignment, 2.0 / 3, 1e-7) << "the third key belongs to no query";
}

TEST(HeadScores, SaysNothingAboutASingleToken) {
    const auto scores = head_scores(weights_trace({{1}}, {4}, 1));
    EXPECT_EQ(scores[0].rows, 1);
    EXPECT_DOUBLE_EQ(scores[0].previous_token, 0);
    EXPECT_DOUBLE_EQ(scores[0].first_token, 0);
}

}  // namespace
}  // namespace attn
