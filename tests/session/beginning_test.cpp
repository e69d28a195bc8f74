/// The part of a large model that is looked at is shown before the rest of its pass is computed.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/session/document/model_document.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/facets/held_stages.hpp"
#include "app/session/session.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/session/values/statistics.hpp"
#include "app/session/values/token_path.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/fake_computation.hpp"

namespace attn::app {
namespace {

/// Too little memory to record every stage.
double tight_budget(const Document& document) {
    const TraceSize size = prepare(document).size;
    return size.parameters + 0.99 * size.whole;
}

/// A session with a pass long enough to be shown from its beginning, which stops at a gate before it goes on behind that.
struct SlowSession {
    explicit SlowSession(const Document& document)
        : session(
              document, [this] { ++woken; }, computation(), TrainingEngine::engine(), tight_budget(document)) {
        session.wait();
    }
    ~SlowSession() { gate.open(); }

    Computation computation() {
        Computation engine = Computation::engine();
        const auto pass = [this](const std::optional<StageId>& before) {
            ++(before ? begun : passes);
            if (!before) std::this_thread::sleep_for(std::chrono::milliseconds(12));
        };
        engine.outline = [pass, plain = engine.outline](auto parameters, const auto& tokens, const auto& source, const auto& settings,
                                                        const OutlineLimits& limits, std::stop_token stop) {
            pass(limits.before);
            return plain(std::move(parameters), tokens, source, settings, limits, std::move(stop));
        };
        engine.continued = [pass, plain = engine.continued](const auto& outline, const auto& tokens, const auto& before,
                                                            std::stop_token stop) {
            pass(before);
            return plain(outline, tokens, before, std::move(stop));
        };
        engine.completed = [this, plain = engine.completed](auto outline, bool attended, const auto* known, std::stop_token stop) {
            gate.pass(stop);
            std::this_thread::sleep_for(std::chrono::milliseconds(12));
            return plain(std::move(outline), attended, known, std::move(stop));
        };
        return engine;
    }

    facet::Inside inside(int layer) const {
        const Plan& plan = *session.snapshot()->trace->plan;
        return {plan.nodes()[plan.part_around({Stage::Scores, layer}).first].id};
    }
    /// As a view that shows a part and the next words.
    void look_at(const std::vector<Facet>& facets) {
        std::vector<Request> requests;
        for (const Facet& facet : facets) requests.push_back({session.states().shown, facet});
        session.want(requests);
        for (const Request& request : requests) session.wait_for(request);
        session.want(requests);
    }
    void type(const std::string& text) { session.apply({command::SetTexts{{text}, {}}, ""}); }
    /// Types a text of which only the beginning is computed and shown.
    void begin(const std::string& text) {
        look_at({inside(0), facet::NextWords{}});
        gate.close();
        type(text);
        await_shown();
    }
    /// Waits until the document's state is shown.
    void await_shown() {
        for (int i = 0; i < 20'000 && !session.shows_document(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ASSERT_TRUE(session.shows_document()) << session.snapshot()->problem << session.message();
    }

    test::Gate gate;
    std::atomic<int> begun{0}, passes{0}, woken{0};
    Session session;
};

void expect_same_outline(const Trace<float>& expected, const Trace<float>& found) {
    ASSERT_EQ(expected.stages.size(), found.stages.size());
    for (std::size_t i = 0; i < expected.stages.size(); ++i)
        EXPECT_TRUE(std::ranges::equal(expected.stages[i].value.values(), found.stages[i].value.values()))
            << tensor_name(expected.stages[i].id);
}

Document document() {
    Document document = open_preset("gpt-tiny");
    document.texts = {"the cat sat on the"};
    document.vocabulary_texts = {"the cat sat on the mat and the dog sat there"};
    document.forward.masks.causal = true;
    return document;
}

TEST(Beginning, OfAPassIsShownWithThePartLookedAt) {
    SlowSession slow(document());
    Session& session = slow.session;
    ASSERT_FALSE(session.snapshot()->trace->whole());
    const facet::Inside inside = slow.inside(0);
    slow.look_at({inside, facet::NextWords{}});
    slow.gate.close();
    slow.type("the cat sat on the mat");
    slow.await_shown();
    EXPECT_GT(slow.begun, 0);
    EXPECT_FALSE(session.is_up_to_date());
    const auto early = session.snapshot();
    EXPECT_EQ(early->state->setup->texts[0], "the cat sat on the mat");
    EXPECT_FALSE(is_complete(*early->trace));
    EXPECT_EQ(early->tokens[0].size(), 6U);
    const auto part = session.results().find(early->state, inside);
    ASSERT_TRUE(part) << part.problem;
    EXPECT_FALSE(session.results().find(early->state, facet::NextWords{})) << "it needs the last layer";

    slow.gate.open();
    const auto whole = session.wait();
    EXPECT_TRUE(session.is_up_to_date());
    EXPECT_TRUE(is_complete(*whole->trace));
    EXPECT_EQ(whole->state, early->state);
    EXPECT_EQ(whole->serial, early->serial) << "what was drawn stays as it is";
    Document typed = document();
    typed.texts = {"the cat sat on the mat"};
    Session fresh(
        typed, [] {}, tight_budget(typed));
    expect_same_outline(*fresh.wait()->trace, *whole->trace);
    expect_same_outline(*fresh.get(inside)->trace, *part->trace);
    EXPECT_EQ(fresh.get(facet::NextWords{})->likeliest.front().probability, session.get(facet::NextWords{})->likeliest.front().probability);
}

TEST(Beginning, FollowsFastTyping) {
    SlowSession slow(document());
    slow.look_at({slow.inside(1), facet::NextWords{}});
    slow.gate.close();
    for (const char* text : {"the cat sat on the mat", "the cat sat on the mat and", "the dog"}) {
        slow.type(text);
        slow.await_shown();
        const StateRef shown = slow.session.states().shown;
        EXPECT_EQ(shown->setup->texts[0], text);
        EXPECT_TRUE(slow.session.results().find(shown, slow.inside(1)));
        slow.session.want({{shown, slow.inside(1)}, {shown, facet::NextWords{}}});  // as the view does in its next frame
    }
    slow.gate.open();
    EXPECT_TRUE(is_complete(*slow.session.wait()->trace));
}

/// While the pass waits for the picture, the worker does not take up the pass of a state that is compared with.
TEST(Beginning, IsFollowedByItsOwnPassFirst) {
    // The weights of a published model are not counted for every state, so that there is room for two.
    SlowSession slow(document_of_model(OpenedModel::open(std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2")));
    slow.begin("When Anna came home");
    const StateRef shown = slow.session.states().shown, unmasked = slow.session.states().unmasked;
    ASSERT_TRUE(unmasked != nullptr && unmasked != shown);
    const int passes = slow.passes;
    slow.session.want({{unmasked, facet::Trace{}}, {shown, facet::NextWords{}}});
    slow.session.drawn();
    slow.gate.await_arrival();
    EXPECT_EQ(slow.passes, passes) << "the other state's pass comes later";
    slow.gate.open();
    const Results results = slow.session.wait_for({unmasked, facet::Trace{}});
    EXPECT_EQ(slow.passes, passes + 1) << results.find(unmasked, facet::Trace{}).problem;
}

TEST(Beginning, IsCompletedForFiles) {
    SlowSession slow(document());
    slow.begin("the cat sat on the mat");
    const std::shared_ptr<const Snapshot> early = slow.session.snapshot();
    ASSERT_FALSE(is_complete(*early->trace));
    Document typed = document();
    typed.texts = {"the cat sat on the mat"};
    Session fresh(typed, [] {});
    for (const PlanNode& node : early->trace->plan->nodes()) {
        const StageId& id = node.id;
        const std::shared_ptr<const Trace<float>> part = trace_with(*early, id);
        const RecordedStage<float>*expected = fresh.wait()->trace->find(id), *found = part->find(id);
        ASSERT_TRUE(expected != nullptr && found != nullptr) << tensor_name(id);
        EXPECT_TRUE(std::ranges::equal(expected->value.values(), found->value.values())) << tensor_name(id);
    }
    EXPECT_THROW(Recomputation<float>(early->trace).trace_around({Stage::Logits}), Error) << "a layer that is not there is not made up";
}

/// The next document is invalid: the state before stays, and its pass goes on to the end if something needs it.
TEST(Beginning, IsReplacedByItsPassAlsoWhileAProblemIsShown) {
    SlowSession slow(document());
    slow.begin("the cat sat on the mat");
    const StateRef shown = slow.session.states().shown;
    slow.type("");
    while (slow.session.snapshot()->problem.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(slow.session.snapshot()->state, shown);
    slow.gate.open();
    const Results results = slow.session.wait_for({shown, facet::NextWords{}});
    EXPECT_TRUE(results.find(shown, facet::NextWords{})) << results.find(shown, facet::NextWords{}).problem;
    EXPECT_TRUE(results.find(shown, facet::Trace{})) << results.find(shown, facet::Trace{}).problem;
    EXPECT_TRUE(is_complete(*slow.session.snapshot()->trace));
    EXPECT_NE(slow.session.snapshot()->problem, "");
}

TEST(Beginning, IsNotShownWhereMoreIsLookedAt) {
    SlowSession slow(document());
    const facet::Inside inside = slow.inside(0);
    slow.look_at({inside, facet::Statistics{{Stage::Logits}}});
    slow.type("the cat sat on the mat");
    slow.session.wait();
    EXPECT_EQ(slow.begun, 0) << "the logits need all layers";
    slow.look_at({inside, facet::TokenPath{}});
    slow.type("the cat sat");
    slow.session.wait();
    EXPECT_EQ(slow.begun, 0) << "only the next words may come later";
    slow.look_at({facet::NextWords{}});
    slow.type("the cat");
    slow.session.wait();
    EXPECT_EQ(slow.begun, 0) << "no part is looked at";
}

TEST(Beginning, AfterALongPassThePartsOfManyLayersAreNotAwaited) {
    Document deep = document();
    deep.config.num_layers = 6;
    test::Gate gate;
    Computation engine = Computation::engine();
    engine.outline = [plain = engine.outline](auto parameters, const auto& tokens, const auto& source, const auto& settings,
                                              const OutlineLimits& limits, std::stop_token stop) {
        std::this_thread::sleep_for(std::chrono::milliseconds(320));
        return plain(std::move(parameters), tokens, source, settings, limits, std::move(stop));
    };
    engine.inside = [&gate, plain = engine.inside](const auto& outline, const auto& within, const auto& wanted, const auto& in_rows,
                                                   std::stop_token stop) {
        gate.pass(stop);
        return plain(outline, within, wanted, in_rows, stop);
    };
    Session session(
        deep, [] {}, engine, TrainingEngine::engine(), tight_budget(deep));
    session.wait();
    const Plan& plan = *session.snapshot()->trace->plan;
    const auto look_at = [&](int layers) {
        std::vector<Request> requests;
        for (int layer = 0; layer < layers; ++layer)
            requests.push_back({session.states().shown, facet::Inside{plan.nodes()[plan.part_around({Stage::Scores, layer}).first].id}});
        session.want(requests);
        for (const Request& request : requests) session.wait_for(request);
        session.want(requests);
    };
    const auto is_shown_without_parts = [&](std::int64_t window) {
        gate.close();
        ForwardSettings forward = session.document().forward;
        forward.masks.window = window;
        session.apply({command::SetForward{forward}, ""});
        gate.await_arrival();
        const bool shown = session.shows_document();
        gate.open();
        session.wait();
        return shown;
    };
    look_at(6);
    EXPECT_TRUE(is_shown_without_parts(2));
    look_at(1);
    EXPECT_FALSE(is_shown_without_parts(3)) << "one part comes with its pass";
}

TEST(Beginning, OfAStateThatFailsTellsTheProblem) {
    SlowSession slow(document());
    slow.look_at({slow.inside(0), facet::NextWords{}});
    slow.type("");
    const auto shown = slow.session.wait();
    EXPECT_NE(shown->problem, "");
    EXPECT_EQ(shown->tokens[0].size(), 5U) << "the last valid state";
    slow.type("the cat");
    EXPECT_EQ(slow.session.wait()->problem, "");
}

}  // namespace
}  // namespace attn::app
