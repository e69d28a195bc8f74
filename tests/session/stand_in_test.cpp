/// While a part of what is asked for cannot be computed, every other change is shown, and nothing is shown that was not asked for.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "app/session/document/presets.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/session.hpp"
#include "app/session/states/setup_parts.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

constexpr const char* kReadable = "12+34:";
constexpr const char* kUnreadable = "12zzz+34:";

/// Masked scores of the first head's first query: with a causal mask, the later keys are cut.
bool sees_the_future(const Snapshot& snapshot) {
    const RecordedStage<float>* weights = snapshot.trace->find({Stage::Weights, 0});
    return weights->value(0, 0, 0, weights->value.shape()[3].size - 1) > 0;
}

class StandIn : public ::testing::Test {
protected:
    void SetUp() override {
        session = std::make_unique<Session>(open_preset("addition"), [] {});
        type(kReadable);
        ASSERT_EQ(session->wait()->problem, "");
    }
    void type(const std::string& text) { session->apply({command::SetTexts{{text}, {}}, ""}); }
    void set_causal(bool on) {
        ForwardSettings forward = session->document().forward;
        forward.masks.causal = on;
        session->apply({command::SetForward{forward}, ""});
    }
    std::unique_ptr<Session> session;
};

TEST_F(StandIn, SwitchesActOnTheTextThatIsShown) {
    const std::size_t tokens = session->snapshot()->tokens[0].size();
    type(kUnreadable);
    std::shared_ptr<const Snapshot> shown = session->wait();
    EXPECT_NE(shown->problem.find("“zzz” is not among them"), std::string::npos) << shown->problem;
    EXPECT_EQ(shown->tokens[0].size(), tokens);
    EXPECT_FALSE(sees_the_future(*shown));
    for (const bool causal : {false, true, false}) {
        set_causal(causal);
        shown = session->wait();
        EXPECT_NE(shown->problem, "") << "the text still cannot be read";
        EXPECT_EQ(shown->tokens[0].size(), tokens);
        EXPECT_EQ(sees_the_future(*shown), !causal);
        EXPECT_EQ(shown->trace->settings, session->document().forward);
        EXPECT_TRUE(session->is_up_to_date());
        EXPECT_EQ(session->states().shown, shown->state);
        EXPECT_EQ(session->document().texts[0], kUnreadable) << "what was typed stays";
    }
    // Once it is mended, the switch set meanwhile holds for it, too.
    type("12+56:");
    shown = session->wait();
    EXPECT_EQ(shown->problem, "");
    EXPECT_EQ(shown->state->setup->texts, session->document().texts);
    EXPECT_TRUE(sees_the_future(*shown));
}

TEST_F(StandIn, UndoGoesBackThroughWhatCouldNotBeRead) {
    const StateRef before = session->states().shown;
    type(kUnreadable);
    session->wait();
    set_causal(false);
    session->wait();
    session->apply({command::Undo{}, ""});
    EXPECT_FALSE(sees_the_future(*session->wait()));
    EXPECT_NE(session->snapshot()->problem, "");
    session->apply({command::Undo{}, ""});
    EXPECT_EQ(session->wait()->problem, "");
    EXPECT_EQ(*session->states().shown, *before);
}

TEST_F(StandIn, WhatIsShownNeverMixesOneStateWithTheFacetsOfAnother) {
    type(kUnreadable);
    for (int i = 0; i < 200; ++i) {
        if (i % 20 == 0) set_causal(i % 40 == 0);
        session->update();
        const Session::Shown shown = session->shown();
        ASSERT_EQ(shown.snapshot->state, shown.states.shown);
        ASSERT_EQ(shown.snapshot->trace->settings, shown.snapshot->state->setup->forward);
        if (!shown.up_to_date || shown.snapshot->problem.empty()) continue;
        ASSERT_EQ(shown.snapshot->trace->settings, session->document().forward);
    }
}

/// A file that has changed, or memory that is used up: the problem has no setting, and every further pass may fail or not.
TEST(StandInWithoutAField, ShowsTheLastStateAndSaysSo) {
    auto fails = std::make_shared<std::atomic<bool>>(false);
    Computation engine = Computation::engine();
    engine.forward = [forward = engine.forward, fails](auto&&... arguments) {
        if (*fails) throw Error("the file has changed");
        return forward(std::forward<decltype(arguments)>(arguments)...);
    };
    engine.edited = [edited = engine.edited, fails](auto&&... arguments) {
        if (*fails) throw Error("the file has changed");
        return edited(std::forward<decltype(arguments)>(arguments)...);
    };
    Session session(
        open_preset("stories"), [] {}, engine);
    session.wait();
    const StateRef before = session.states().shown;
    *fails = true;
    ForwardSettings forward = session.document().forward;
    forward.masks.causal = false;
    session.apply({command::SetForward{forward}, ""});
    EXPECT_EQ(session.wait()->problem, "the file has changed");
    EXPECT_EQ(session.states().shown, before);
    EXPECT_EQ(differing_parts(session.document(), *before->setup), SetupParts::of(SetupPart::Masks));
    forward.temperature = 2;
    session.apply({command::SetForward{forward}, ""});
    EXPECT_EQ(session.wait()->problem, "the file has changed");
    EXPECT_EQ(session.states().shown, before);
    EXPECT_TRUE(session.is_up_to_date());
    *fails = false;
    forward.temperature = 3;
    session.apply({command::SetForward{forward}, ""});
    EXPECT_EQ(session.wait()->problem, "");
    EXPECT_EQ(session.snapshot()->trace->settings, forward);
}

TEST(SetupParts, OfEverySettingAreFoundAndTakenOver) {
    State a{std::make_shared<const app::Setup>(static_cast<const app::Setup&>(open_preset("stories"))), Drawn{}};
    for (int i = 0; i < kSetupParts; ++i) {
        app::Setup changed = *a.setup;
        const auto part = static_cast<SetupPart>(i);
        switch (part) {
        case SetupPart::Text:
            changed.texts[0] += " Tom";
            break;
        case SetupPart::Masks:
            changed.forward.masks.window = 3;
            break;
        case SetupPart::Softmax:
            changed.forward.temperature = 2;
            break;
        case SetupPart::Edits:
            changed.forward.edits.emplace_back();
            break;
        case SetupPart::Mistake:
            changed.forward.mistake = Mistake::NoScale;
            break;
        case SetupPart::Model:
            changed.config.num_layers += 1;
            break;
        }
        const State b{std::make_shared<const app::Setup>(changed), Drawn{}};
        EXPECT_EQ(differing_parts(a, b), SetupParts::of(part));
        EXPECT_NE(words_for(SetupParts::of(part)), "");
        EXPECT_EQ(with_parts_of(a, b, SetupParts::of(part)), b);
        EXPECT_EQ(with_parts_of(a, b, {}), a);
    }
    EXPECT_EQ(words_for(SetupParts::of(SetupPart::Text) | SetupParts::of(SetupPart::Masks)), "the text and the masks");
}

}  // namespace
}  // namespace attn::app
