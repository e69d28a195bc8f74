/// What every facet asks for before it computes anything. This is the only list of all facets.

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/session/document/prepare.hpp"
#include "app/session/facets/agenda.hpp"
#include "app/session/facets/ask.hpp"
#include "app/session/facets/scheduler.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/difference.hpp"
#include "app/session/values/doctor_report.hpp"
#include "app/session/values/explanation.hpp"
#include "app/session/values/found_tokens.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/head_rows.hpp"
#include "app/session/values/held_out.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/map_region.hpp"
#include "app/session/values/map_tensors.hpp"
#include "app/session/values/near_tokens.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/other_tokens.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/rollout_terms.hpp"
#include "app/session/values/sample.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/session/values/statistics.hpp"
#include "app/session/values/strong_cells.hpp"
#include "app/session/values/token_path.hpp"
#include "app/session/values/totals_slice.hpp"
#include "app/session/values/verification.hpp"
#include "app/session/values/weights_beside.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/fake_computation.hpp"

namespace attn::app {
namespace {

StateRef state_with(const std::string& text) {
    Setup setup;
    setup.texts = {text};
    setup.vocabulary_texts = {"a b c d e f g"};
    return std::make_shared<const State>(State{std::make_shared<const Setup>(std::move(setup)), Drawn{}});
}

/// A pass without numbers: whoever reads one finds none.
Snapshot hollow_pass(const StateRef& state, bool whole) {
    const Prepared prepared = prepare(*state->setup);
    Trace<float> trace = test::empty_trace(std::make_shared<const Parameters<float>>(prepared.config), prepared.tokens, prepared.source,
                                           state->setup->forward);
    if (whole)
        for (const PlanNode& node : trace.plan->nodes()) trace.stages.emplace_back().id = node.id;
    Snapshot snapshot;
    snapshot.state = state;
    snapshot.trace = std::make_shared<const Trace<float>>(std::move(trace));
    return snapshot;
}

/// A value of the facet without numbers.
template <class F>
std::shared_ptr<const void> hollow(const StateRef& state, bool whole) {
    if constexpr (std::is_same_v<typename F::Value, Snapshot>) return std::make_shared<const Snapshot>(hollow_pass(state, whole));
    else return std::make_shared<const typename F::Value>();
}

/// A request for a facet of some state, and how to make a value for it.
struct Asking {
    std::string name;
    Request request;
    std::shared_ptr<const void> (*value)(const StateRef&, bool whole) = nullptr;
    bool (*is)(const Facet&) = nullptr;
};

void PrintTo(const Asking& one, std::ostream* out) { *out << one.name; }

template <class F>
Asking asking(const char* name, const StateRef& state, F facet) {
    return {name, {state, std::move(facet)}, hollow<F>, [](const Facet& other) { return other.as<F>() != nullptr; }};
}

const StateRef& shown() {
    static const StateRef kShown = state_with("a b c");
    return kShown;
}
const StateRef& other() {
    static const StateRef kOther = state_with("a b d");
    return kOther;
}

const std::vector<Asking>& all_facets() {
    static const StageId kWeights{Stage::Weights, 0}, kValues{Stage::V, 0};
    static const facet::Inside kPart{{Stage::Norm1, 0}};
    static const facet::MapChange kChange{.norm_weighted = true, .minus = other(), .minus_stage = kWeights};
    static const StateRef kNone;
    static const std::vector<Asking> kAll{
        asking("trace", shown(), facet::Trace{}),
        asking("beginning", shown(), facet::Beginning{kWeights}),
        asking("inside", shown(), kPart),
        asking("map_region", shown(), facet::MapRegion{.stage = kWeights, .region = {0, 1, 0, 1, 0}}),
        asking("map_region_changed", shown(), facet::MapRegion{.stage = kWeights, .region = {0, 1, 0, 1, 0}, .change = kChange}),
        asking("changed_slice", shown(), facet::ChangedSlice{.stage = kWeights, .part = kPart, .change = {.without_first_key = true}}),
        asking("changed_slice_minus", shown(),
               facet::ChangedSlice{.stage = kWeights, .head = -1, .part = kPart, .change = kChange, .minus_part = kPart}),
        asking("strong_cells", shown(), facet::StrongCells{.stage = kWeights, .heads = {0, -1}, .most = 4, .part = kPart}),
        asking("totals_slice", shown(), facet::TotalsSlice{.minus = other()}),
        asking("rollout_terms", shown(), facet::RolloutTerms{}),
        asking("lens", shown(), facet::Lens{}),
        asking("totals", shown(), facet::Totals{}),
        asking("gradients", shown(), facet::Gradients{}),
        asking("verification", shown(), facet::Verification{kWeights}),
        asking("doctor", shown(), facet::Doctor{}),
        asking("sample", shown(), facet::Sample{}),
        asking("held_out", shown(), facet::HeldOut{}),
        asking("next_words", shown(), facet::NextWords{}),
        asking("head_rows", shown(), facet::HeadRows{}),
        asking("knock_out", shown(), facet::KnockOut{}),
        asking("same_numbers", shown(), facet::SameNumbers{other()}),
        asking("first_difference", shown(), facet::FirstDifference{other()}),
        asking("explanation", shown(), facet::Explanation{.cell = {kWeights, {}}}),
        asking("explanation_of_parameter", shown(), facet::Explanation{.cell = {{}, "embedding.token"}}),
        asking("head_mean", shown(), facet::HeadMean{kWeights}),
        asking("value_norms", shown(), facet::ValueNorms{kWeights}),
        asking("statistics", shown(), facet::Statistics{.stage = kValues}),
        asking("statistics_of_head", shown(), facet::Statistics{.stage = kWeights, .head = 1}),
        asking("statistics_of_mean", shown(), facet::Statistics{.stage = kWeights, .head = -1, .part = kPart}),
        asking("statistics_of_gradients", shown(), facet::Statistics{.stage = kValues, .gradients = true}),
        asking("statistics_of_parameter", shown(), facet::Statistics{.parameter = "embedding.token"}),
        asking("token_path", shown(), facet::TokenPath{}),
        asking("other_tokens", shown(), facet::OtherTokens{.text = {}, .file = "nowhere"}),
        asking("near_tokens", shown(), facet::NearTokens{}),
        asking("found_tokens", shown(), facet::FoundTokens{"a"}),
        asking("task_example", kNone, facet::TaskExample{}),
        asking("weights_beside", kNone, facet::WeightsBeside{.model = nullptr, .other = "nowhere"}),
        asking("weight_errors", kNone, facet::WeightErrors{.model = nullptr, .other = nullptr, .parameter = "embedding.token"}),
        asking("weight_numbers", kNone, facet::WeightNumbers{.model = nullptr, .other = nullptr, .parameter = "embedding.token"}),
        asking("dump", kNone, facet::Dump{"nowhere"}),
    };
    return kAll;
}

/// A value without numbers for whatever a facet asks for.
std::shared_ptr<Fact> hollow_fact(const Request& request, bool whole) {
    auto fact = std::make_shared<Fact>();
    fact->request = request;
    for (const Asking& one : all_facets())
        if (one.is(request.facet)) fact->value = one.value(request.state, whole);
    return fact;
}

/// What is asked for when everything is known, of passes that hold all stages or only an outline. It has no numbers.
Asked asked_with_all(const Request& request, bool whole) {
    Results results;
    Asked asked = asked_by(request, results);
    for (int i = 0; i < 20 && asked.waits(); ++i) {
        results.put(hollow_fact(asked.needs.back(), whole));
        asked = asked_by(request, results);
    }
    return asked;
}

class EveryFacet : public testing::TestWithParam<Asking> {};

TEST_P(EveryFacet, EndsAtItsFirstNeedWhileNothingIsKnown) {
    const Asked asked = asked_by(GetParam().request, {});
    EXPECT_EQ(asked.error, nullptr);
    if (is_pass(GetParam().request.facet) || GetParam().request.state == nullptr) {
        EXPECT_TRUE(asked.needs.empty());
        EXPECT_NE(asked.job, nullptr);
    } else {
        EXPECT_TRUE(asked.waits());
        EXPECT_EQ(asked.needs.size(), 1);
        EXPECT_EQ(asked.job, nullptr);
    }
}

// A make() that computed something would read numbers, and there are none.
TEST_P(EveryFacet, ComputesNothingWhenAllThatItNeedsIsKnown) {
    for (const bool whole : {false, true}) {
        const Asked asked = asked_with_all(GetParam().request, whole);
        EXPECT_EQ(asked.error, nullptr);
        EXPECT_NE(asked.job, nullptr);
    }
}

TEST_P(EveryFacet, FailsWithTheProblemOfANeed) {
    for (const bool whole : {false, true}) {
        const std::vector<Request> needs = asked_with_all(GetParam().request, whole).needs;
        for (std::size_t failing = 0; failing < needs.size(); ++failing) {
            Results results;
            for (std::size_t i = 0; i < failing; ++i) results.put(hollow_fact(needs[i], whole));
            auto failure = std::make_shared<Fact>();
            failure->request = needs[failing];
            failure->problem = "it cannot be computed";
            results.put(failure);
            const Asked asked = asked_by(GetParam().request, results);
            EXPECT_EQ(asked.failed, failure) << failing;
            EXPECT_EQ(asked.job, nullptr);
            EXPECT_EQ(asked.needs.size(), failing + 1);
        }
    }
}

TEST_P(EveryFacet, IsEqualToItsCopyAndToNoOther) {
    const Request copy = GetParam().request;
    for (const Asking& one : all_facets()) {
        EXPECT_EQ(one.request == copy, one.name == GetParam().name) << one.name;
        EXPECT_EQ(one.request.facet == copy.facet, one.name == GetParam().name) << one.name;
    }
    EXPECT_EQ(RequestHash{}(copy), RequestHash{}(GetParam().request));
    EXPECT_NE(copy, (Request{other(), copy.facet}));
}

INSTANTIATE_TEST_SUITE_P(Facets, EveryFacet, testing::ValuesIn(all_facets()), [](const auto& tested) { return tested.param.name; });

TEST(Facets, OfAStateThatCannotBeComputedHaveItsProblem) {
    Computation failing = test::empty_computation();
    failing.forward = [](const auto&, const auto&, const auto&, const auto&, const auto&) -> Trace<float> { throw Error("no pass"); };
    Scheduler scheduler(failing, [] {});
    std::vector<Request> requests;
    for (const Asking& one : all_facets())
        if (one.request.state != nullptr && one.request.facet.as<facet::Beginning>() == nullptr) requests.push_back(one.request);
    scheduler.want(requests);
    scheduler.wait();
    for (const Request& request : requests) EXPECT_EQ(scheduler.results().find(request)->problem, "no pass");
}

/// A weighted mean of the heads needs a part, which needs the pass.
const Request kSlice{shown(), facet::ChangedSlice{.stage = {Stage::Weights, 0}, .head = -1, .change = {.norm_weighted = true}}};
const Request kLater{shown(), facet::NextWords{}};

TEST(Agenda, FollowsWhatIsAskedForAsItArrives) {
    const Request trace{shown(), facet::Trace{}}, mean{shown(), facet::HeadMean{{Stage::Weights, 0}}},
        norms{shown(), facet::ValueNorms{{Stage::Weights, 0}}};
    Results results;
    Agenda agenda({kSlice, kLater}, results);
    const auto arrives = [&](const Request& request) {
        const auto fact = hollow_fact(request, false);
        results.put(fact);
        agenda.learn(fact, results);
    };
    const auto next = [&] { return *agenda.find(kSlice)->next().request; };
    EXPECT_EQ(next(), trace);
    EXPECT_EQ(agenda.find(mean), nullptr) << "not known before there is a pass";
    EXPECT_EQ(agenda.find(kLater)->turn, 3);

    arrives(trace);
    EXPECT_TRUE(agenda.find(kSlice)->needs_directly(mean));
    EXPECT_FALSE(agenda.find(kSlice)->needs_directly(norms)) << "it waits for the mean";
    const Request part = next();
    EXPECT_NE(part.facet.as<facet::Inside>(), nullptr) << "the mean needs a part first";
    EXPECT_EQ(agenda.find(part)->turn, 0) << "needed by the first request";

    arrives(part);
    EXPECT_EQ(next(), mean);
    arrives(mean);
    EXPECT_TRUE(agenda.find(kSlice)->needs_directly(norms));
    while (next() != norms) arrives(next());
    arrives(norms);
    EXPECT_EQ(next(), kSlice);
    EXPECT_NE(agenda.ask(kSlice, results).job, nullptr);

    agenda = Agenda({kLater}, results, agenda);
    EXPECT_EQ(agenda.find(mean), nullptr) << "nobody asks for it any more";
    EXPECT_EQ(agenda.find(trace)->turn, 0);
}

TEST(Agenda, IsAskedForByTheFirstWhoNeedsIt) {
    const Request part{shown(), facet::Inside{{Stage::Norm1, 0}}}, trace{shown(), facet::Trace{}};
    const Agenda agenda({{other(), facet::Trace{}}, part, kLater}, {});
    EXPECT_EQ(agenda.find({other(), facet::Trace{}})->turn, 1);
    EXPECT_EQ(agenda.find(part)->turn, 3);
    EXPECT_EQ(agenda.find(trace)->turn, 2) << "before the part, although the words need it too";
}

}  // namespace
}  // namespace attn::app
