#include "app/session/session.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "app/session/document/presets.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/verification.hpp"
#include "engine/reference/verify.hpp"
#include "tests/support/fake_computation.hpp"

namespace attn::app {
namespace {

void no_wake() {}

Command set_text(const std::string& text, const std::string& merge = "") { return {command::SetTexts{{text}, {}}, merge}; }

Command set_causal(const Session& session, bool causal) {
    ForwardSettings forward = session.document().forward;
    forward.masks.causal = causal;
    return {command::SetForward{forward}, ""};
}

TEST(Session, ShowsTheFirstDocument) {
    Session session(open_preset(kDefaultPreset), no_wake);
    const auto snapshot = session.wait();
    EXPECT_EQ(snapshot->problem, "");
    ASSERT_NE(snapshot->trace, nullptr);
    EXPECT_TRUE(session.get(facet::Verification{})->ok);
    EXPECT_EQ(snapshot->ranges.size(), snapshot->trace->stages.size());
    EXPECT_EQ(snapshot->head_scores.size(), 2U);
    EXPECT_EQ(*snapshot->state->setup, static_cast<const app::Setup&>(session.document()));
    EXPECT_EQ(snapshot->state->source, Source(Drawn{}));
}

TEST(Session, AppliesUndoesAndRedoes) {
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation());
    session.apply(set_text("one two", "typing"));
    session.apply(set_text("one two three", "typing"));
    session.apply(set_causal(session, false));
    EXPECT_FALSE(session.wait()->trace->settings.masks.causal);
    session.apply({command::Undo{}, ""});
    EXPECT_TRUE(session.wait()->trace->settings.masks.causal);
    session.apply({command::Undo{}, ""});
    EXPECT_EQ(session.document(), open_preset(kDefaultPreset));
    EXPECT_FALSE(session.can_undo());
    session.apply({command::Undo{}, ""});
    EXPECT_EQ(session.message(), "there is nothing to undo");
    session.apply({command::Redo{}, ""});
    EXPECT_EQ(session.message(), "");
    EXPECT_EQ(session.wait()->tokens.at(0).size(), 3U);
    EXPECT_TRUE(session.can_redo());
}

TEST(Session, SaysWhenThereIsNoSuchPreset) {
    Session session(open_preset(kDefaultPreset), no_wake, test::empty_computation());
    const Document before = session.document();
    session.apply({command::OpenPreset{"nonsense"}, ""});
    EXPECT_NE(session.message().find("there is no preset \"nonsense\"; the presets are stories, induction"), std::string::npos)
        << session.message();
    EXPECT_EQ(session.document(), before);
    EXPECT_FALSE(session.can_undo());
    session.apply({command::OpenPreset{"gpt-tiny"}, ""});
    EXPECT_EQ(session.message(), "");
    EXPECT_EQ(session.wait()->trace->config.num_layers, 4);
}

TEST(Session, ADocumentAlwaysHasASequence) {
    Document none;
    none.texts.clear();
    Session session(none, no_wake, test::empty_computation());
    EXPECT_EQ(session.document().texts.size(), 1U);
    session.apply({command::SetTexts{{}, {}}, ""});
    EXPECT_EQ(session.document().texts.size(), 1U);
    EXPECT_EQ(session.wait()->problem, "type some text");
}

TEST(Session, AnInvalidSettingStaysInTheDocumentAndTheTraceStaysOnScreen) {
    Session session(open_preset("multi-head"), no_wake);
    const auto before = session.wait();
    Config config = session.document().config;
    config.num_heads = 3;
    session.apply({command::SetConfig{config}, ""});
    const auto after = session.wait();
    EXPECT_EQ(session.document().config.num_heads, 3);
    EXPECT_EQ(after->problem, "d_model 16 is not divisible by 3 heads: 15 or 18 would be");
    EXPECT_EQ(after->problem_field, Field::DModel);
    EXPECT_EQ(after->trace, before->trace);
}

TEST(Session, EveryBadForwardSettingIsAProblemBesideItsControl) {
    Session session(open_preset("multi-head"), no_wake);
    const ForwardSettings good = session.document().forward;
    const auto field_after = [&](void (*change)(ForwardSettings&)) {
        ForwardSettings forward = good;
        change(forward);
        session.apply({command::SetForward{forward}, ""});
        const auto snapshot = session.wait();
        EXPECT_NE(snapshot->problem, "");
        return snapshot->problem_field;
    };
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.masks.window = -1; }), Field::Window);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.masks.prefix = -1; }), Field::Prefix);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.masks.block = -1; }), Field::Block);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.temperature = 0; }), Field::Temperature);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.dropout.attention = 2; }), Field::AttentionDropout);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.dropout.residual = 2; }), Field::ResidualDropout);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.dropout.embedding = 2; }), Field::EmbeddingDropout);
    session.apply({command::SetForward{good}, ""});
    EXPECT_EQ(session.wait()->problem, "");
}

TEST(Session, AWrongNumberTurnsTheVerificationBad) {
    Computation computation = Computation::engine();
    const auto forward = computation.forward;
    computation.forward = [forward](auto parameters, const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings,
                                    const std::stop_token& stop) {
        Trace<float> trace = forward(parameters, tokens, source, settings, stop);
        for (auto& stage : trace.stages)
            if (stage.id.stage == Stage::Weights) stage.value.values()[0] += 1e-3F;
        return trace;
    };
    Session session(open_preset(kDefaultPreset), no_wake, std::move(computation));
    const auto verification = session.get(facet::Verification{});
    EXPECT_FALSE(verification->ok);
    ASSERT_NE(verification->first_failure(), nullptr);
    EXPECT_EQ(verification->first_failure()->id.stage, Stage::Weights);
}

// Thousands of random user actions; also run under the thread sanitizer.
TEST(Session, BearsThousandsOfRandomCommands) {
    std::mt19937 random(7);
    const auto pick = [&](int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); };
    std::atomic<int> woken = 0;
    Session session(open_preset(kDefaultPreset), [&] { ++woken; });
    const std::vector<std::string> texts{"", "the cat", "the cat sat on the mat", "one", "a new word appears here", " "};
    for (int i = 0; i < 3000; ++i) {
        const std::string merge = pick(2) == 0 ? "drag" : "";
        switch (pick(8)) {
        case 0:
            session.apply(set_text(texts[static_cast<std::size_t>(pick(static_cast<int>(texts.size())))], merge));
            break;
        case 1: {
            Config config = session.document().config;
            config.num_heads = pick(5);
            session.apply({command::SetConfig{config}, merge});
            break;
        }
        case 2: {
            ForwardSettings forward = session.document().forward;
            forward.masks.causal = pick(2) == 0;
            forward.temperature = pick(4) * 0.5;
            forward.masks.window = pick(4) - 1;
            session.apply({command::SetForward{forward}, merge});
            break;
        }
        case 3:
            session.apply({command::Undo{}, ""});
            break;
        case 4:
            session.apply({command::Redo{}, ""});
            break;
        case 5:
            session.apply({command::SetTokenizer{static_cast<TokenizerKind>(pick(3))}, merge});
            break;
        case 6: {
            const auto all = presets();
            const Preset& preset = all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
            if (preset.name != "gpt-tiny") session.apply({command::OpenPreset{preset.name}, ""});
            break;
        }
        default:
            if (pick(6) == 0) {
                const auto settled = session.wait();
                if (settled->problem.empty()) ASSERT_EQ(*settled->state->setup, static_cast<const app::Setup&>(session.document()));
                else ASSERT_NE(settled->problem.find(' '), std::string::npos);
            }
        }
        // What a view would request meanwhile.
        const auto snapshot = session.snapshot();
        ASSERT_NE(snapshot, nullptr);
        const States& states = session.states();
        std::vector<Request> wanted;
        if (pick(2) == 0 && states.shown != nullptr) wanted = {{states.shown, facet::Verification{}}, {states.unmasked, facet::Lens{}}};
        session.want(wanted);
        if (snapshot->trace != nullptr) {
            ASSERT_EQ(snapshot->tokens.size(), snapshot->trace->tokens.lengths.size());
            ASSERT_EQ(snapshot->ranges.size(), snapshot->trace->stages.size());
        }
    }
    session.apply({command::OpenPreset{"multi-head"}, ""});
    const auto last = session.wait();
    EXPECT_EQ(last->problem, "");
    EXPECT_EQ(*last->state->setup, static_cast<const app::Setup&>(session.document()));
    EXPECT_TRUE(session.get(facet::Verification{})->ok);
    EXPECT_GT(woken.load(), 0);
}

}  // namespace
}  // namespace attn::app
