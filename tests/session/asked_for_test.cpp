/// Only what is requested is computed.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "app/session/document/named_runs.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/session.hpp"
#include "app/session/values/doctor_report.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/map_tensors.hpp"
#include "app/session/values/sample.hpp"
#include "app/session/values/snapshot.hpp"

namespace attn::app {
namespace {

/// A document that would allow every facet: with an edit, a mistake, and an output head.
Document demanding_document() {
    Document document = open_preset("gpt-tiny");
    document.forward.mistake = Mistake::NoScale;
    Edit edit;
    edit.at = {Stage::Weights, 0};
    edit.value = 0.5;
    document.forward.edits = {edit};
    return document;
}

struct CountedEngine {
    std::atomic<int> passes{0}, others{0};

    template <class Call>
    Call counting(Call call, std::atomic<int>& count) {
        return [&count, call](auto&&... arguments) {
            ++count;
            return call(std::forward<decltype(arguments)>(arguments)...);
        };
    }
    Computation computation() {
        Computation engine = Computation::engine();
        engine.forward = counting(engine.forward, passes);
        engine.edited = counting(engine.edited, passes);
        engine.outline = counting(engine.outline, others);
        engine.continued = counting(engine.continued, others);
        engine.completed = counting(engine.completed, others);
        engine.inside = counting(engine.inside, others);
        engine.verify_part = counting(engine.verify_part, others);
        engine.verify = counting(engine.verify, others);
        engine.gradients = counting(engine.gradients, others);
        engine.sample = counting(engine.sample, others);
        engine.lens = counting(engine.lens, others);
        engine.totals = counting(engine.totals, others);
        engine.examine = counting(engine.examine, others);
        engine.knock_out = counting(engine.knock_out, others);
        return engine;
    }
};

TEST(AskedFor, ATraceIsOneForwardPassAndNothingElse) {
    CountedEngine counted;
    {
        Session session(
            demanding_document(), [] {}, counted.computation());
        EXPECT_EQ(session.wait()->problem, "");
        for (int i = 0; i < 5; ++i) session.update();
    }
    EXPECT_EQ(counted.passes, 1);
    EXPECT_EQ(counted.others, 0);
}

TEST(AskedFor, AFacetComesWithWhatItNeedsOnly) {
    CountedEngine counted;
    {
        Session session(
            demanding_document(), [] {}, counted.computation());
        EXPECT_NE(session.get(facet::Gradients{}), nullptr);
        EXPECT_NE(session.get(facet::Gradients{}), nullptr);
    }
    EXPECT_EQ(counted.passes, 1);
    EXPECT_EQ(counted.others, 1);
}

TEST(AskedFor, TheUnmaskedStateKeepsEditsAndMistakes) {
    Document document = open_preset("gpt-tiny");
    document.forward.mistake = Mistake::NoScale;
    document.forward.edits = {{.kind = EditKind::Set, .at = {Stage::Scores, 0}, .value = 5}};
    document.forward.temperature = 2;
    document.forward.dropout.attention = 0.5;
    document.forward.masks.painted = {{1, 2}};
    const State state{std::make_shared<const app::Setup>(document), Drawn{}};
    ForwardSettings left = document.forward;
    left.masks = {};
    left.masks.padding = false;
    left.dropout = {};
    left.temperature = 1;
    EXPECT_EQ(without_masks(state).setup->forward, left);
    EXPECT_EQ(without_masks(without_masks(state)), without_masks(state));
}

TEST(AskedFor, EveryFacetOfEveryStateCanBe) {
    CountedEngine counted;
    Session session(
        demanding_document(), [] {}, counted.computation());
    session.wait();
    const States states = session.states();
    for (const StateRef& state : {states.unedited, states.unmasked, states.correct})
        EXPECT_TRUE(session.compute(state, facet::Trace{})) << session.compute(state, facet::Trace{}).problem;
    EXPECT_EQ(counted.passes, 4);
    EXPECT_TRUE(session.compute(states.unedited, facet::Sample{}));
    EXPECT_TRUE(session.compute(states.correct, facet::Doctor{}));
    EXPECT_TRUE(session.compute(states.unmasked, facet::Gradients{}));
    EXPECT_EQ(counted.passes, 4) << "their traces are there";
    EXPECT_EQ(counted.others, 3);
}

TEST(AskedFor, ATraceIsShownTogetherWithItsPromptFacets) {
    Session session(open_preset("gpt-tiny"), [] {});
    const StateRef before = session.wait()->state;
    const facet::HeadMean mean{{Stage::Weights, 1}};
    session.want({{before, mean}});
    session.apply({command::SetTexts{{"the same words"}, {}}, ""});
    const auto snapshot = session.wait();
    ASSERT_NE(snapshot->state, before);
    EXPECT_TRUE(session.results().find(snapshot->state, mean)) << "it was there as soon as the trace was shown";
}

TEST(AskedFor, PinsAreOfTheDocumentUndoneAndRedone) {
    Session session(open_preset("gpt-tiny"), [] {});
    const StateRef first = session.wait()->state;
    const std::size_t length = session.wait()->tokens.at(0).size();
    session.apply({command::Pin{false, first}, ""});
    EXPECT_EQ(session.states().pinned_a, first);
    session.apply({command::SetTexts{{"the same words"}, {}}, ""});
    const StateRef second = session.wait()->state;
    session.apply({command::Pin{false, second}, ""});
    session.apply({command::Pin{true, first}, ""});
    EXPECT_EQ(session.states().pinned_a, second);
    EXPECT_EQ(session.states().pinned_b, first);
    session.apply({command::Undo{}, ""});
    EXPECT_EQ(session.states().pinned_b, nullptr);
    session.apply({command::Undo{}, ""});
    EXPECT_EQ(session.states().pinned_a, first);
    const auto trace = session.compute(session.states().pinned_a, facet::Trace{});
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->tokens.at(0).size(), length);
    session.apply({command::Redo{}, ""});
    EXPECT_EQ(session.states().pinned_a, second);
    session.apply({command::Pin{false, nullptr}, ""});
    EXPECT_EQ(session.states().pinned_a, nullptr);
}

TEST(AskedFor, APinOfARunOfAnotherSessionSaysThatItsModelIsGone) {
    Document document = open_preset("gpt-tiny");
    document.pins.a = State{std::make_shared<const app::Setup>(document), MomentOfRun{1, 5, nullptr}};
    Session session(open_preset("gpt-tiny"), [] {});
    session.apply({command::OpenDocument{document}, ""});
    session.wait();
    ASSERT_NE(session.states().pinned_a, nullptr);
    EXPECT_EQ(session.compute(session.states().pinned_a, facet::Trace{}).problem,
              "the training run of this model could not be opened: open its folder");
    EXPECT_TRUE(is_missing(moment_of(*session.states().pinned_a)->run)) << "this session's first run is another one";
}

}  // namespace
}  // namespace attn::app
