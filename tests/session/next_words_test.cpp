/// Next-token candidates against the model's own probabilities.

#include "app/session/values/next_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"

namespace attn::app {
namespace {

TEST(NextWords, AreTheLikeliestOfTheModelsOwnChances) {
    Session session(open_preset("gpt-tiny"), [] {});
    const auto words = session.get(facet::NextWords{});
    const auto snapshot = session.wait();
    const Tensor<float>& own = snapshot->trace->find({Stage::Probabilities, -1})->value;
    const std::int64_t last = snapshot->trace->tokens.lengths[0] - 1, count = own.shape()[2].size;
    std::vector<double> chances;
    for (std::int64_t v = 2; v < count; ++v) chances.push_back(static_cast<double>(own(0, last, v)));
    std::sort(chances.rbegin(), chances.rend());
    ASSERT_EQ(words->likeliest.size(), std::min(kMostNextWords, chances.size()));
    double sum = words->rest;
    for (std::size_t i = 0; i < words->likeliest.size(); ++i) {
        const NextWord& word = words->likeliest[i];
        EXPECT_NEAR(word.probability, chances[i], 1e-6);
        EXPECT_NEAR(word.probability, static_cast<double>(own(0, last, word.id)), 1e-6);
        EXPECT_EQ(word.text, snapshot->vocabulary[static_cast<std::size_t>(word.id)]);
        EXPECT_GE(word.id, 2) << "no padding is offered";
        sum += word.probability;
    }
    EXPECT_NEAR(sum, 1, 1e-9);
    EXPECT_EQ(words->others + static_cast<std::int64_t>(words->likeliest.size()), count);
}

TEST(NextWords, HeatEvensThemOutAndColdLeavesTheFirst) {
    Session session(open_preset("causal-attention"), [] {});
    const auto at = [&](double temperature) { return session.get(facet::NextWords{0, {.temperature = temperature}})->likeliest.front(); };
    EXPECT_GT(at(0.5).probability, at(1).probability);
    EXPECT_LT(at(2).probability, at(1).probability);
    EXPECT_NEAR(at(0).probability, 1, 1e-6);
    EXPECT_EQ(at(0).id, at(1).id);
}

TEST(NextWords, OfAHiddenWordAreThoseOfItsOwnPosition) {
    Session session(open_preset("masked"), [] {});
    const auto snapshot = session.wait();
    const Tensor<float>& own = snapshot->trace->find({Stage::Probabilities, -1})->value;
    for (std::int64_t position = 0; position < snapshot->trace->tokens.lengths[0]; ++position) {
        const auto words = session.get(facet::NextWords{0, {}, position});
        for (const NextWord& word : words->likeliest)
            EXPECT_NEAR(word.predicted, static_cast<double>(own(0, position, word.id)), 1e-6) << position;
    }
    for (const std::int64_t outside : {std::int64_t{-1}, snapshot->trace->tokens.lengths[0]})
        EXPECT_FALSE(session.compute(facet::NextWords{0, {}, outside}));
    Session decoder(open_preset("gpt-tiny"), [] {});
    const Tensor<float>& after = decoder.wait()->trace->find({Stage::Probabilities, -1})->value;
    for (const NextWord& word : decoder.get(facet::NextWords{0, {}, 1})->likeliest)
        EXPECT_NEAR(word.predicted, static_cast<double>(after(0, 1, word.id)), 1e-6);
    EXPECT_FALSE(session.compute(facet::NextWords{})) << "an encoder continues nothing";
}

TEST(NextWords, AreRefusedWhereNoneComesNext) {
    Session encoder(open_preset("self-attention"), [] {});
    EXPECT_EQ(encoder.compute(facet::NextWords{}).value, nullptr);
    EXPECT_NE(encoder.compute(facet::NextWords{}).problem, "");
}

}  // namespace
}  // namespace attn::app
