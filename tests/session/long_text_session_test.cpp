/// The pass over a long text tells how far it is, and ends when it is no longer wanted.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "app/session/document/presets.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/session.hpp"

namespace attn::app {
namespace {

Document with_words(int count) {
    Document document = open_preset("causal-attention");
    document.texts = {""};
    for (int i = 0; i < count; ++i) document.texts[0] += i % 3 == 0 ? "the " : "cat ";
    return document;
}

TEST(LongTextInSession, TellsHowMuchOfItIsComputed) {
    std::promise<void> half, go;
    Computation engine = Computation::engine();
    engine.outline = [&, plain = engine.outline](auto parameters, const auto& tokens, const auto& source, const auto& settings,
                                                 const OutlineLimits& limits, std::stop_token stop) {
        limits.progress(0.437);
        half.set_value();
        go.get_future().wait();
        return plain(std::move(parameters), tokens, source, settings, limits, std::move(stop));
    };
    Session session(
        with_words(3000), [] {}, engine, TrainingEngine::engine());
    half.get_future().wait();
    session.update();
    ASSERT_TRUE(session.share_computed());
    EXPECT_EQ(*session.share_computed(), 0.43) << "in whole per cent";
    EXPECT_FALSE(session.is_up_to_date());
    go.set_value();
    ASSERT_NE(session.wait()->trace, nullptr) << session.wait()->problem;
    EXPECT_FALSE(session.share_computed());
}

TEST(LongTextInSession, IsGivenUpForAShortOne) {
    std::atomic<bool> given_up = false;
    Computation engine = Computation::engine();
    engine.outline = [&, plain = engine.outline](auto parameters, const auto& tokens, const auto& source, const auto& settings,
                                                 const OutlineLimits& limits, std::stop_token stop) {
        try {
            return plain(std::move(parameters), tokens, source, settings, limits, std::move(stop));
        } catch (const Cancelled&) {
            given_up = true;
            throw;
        }
    };
    Session session(
        with_words(16'000), [] {}, engine, TrainingEngine::engine());
    while (session.share_computed().value_or(0) == 0) {
        session.update();
        std::this_thread::yield();
    }
    session.apply({command::SetTexts{{"the cat"}, {}}, ""});
    ASSERT_NE(session.wait()->trace, nullptr);
    EXPECT_EQ(session.snapshot()->trace->tokens.length, 2);
    EXPECT_TRUE(given_up);
}

}  // namespace
}  // namespace attn::app
