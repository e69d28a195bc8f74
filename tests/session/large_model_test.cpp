/// Models too large to record completely are held as outlines, and everything derived from them has the same numbers.

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "app/session/document/document_error.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/facets/held_stages.hpp"
#include "app/session/files/tensor_export.hpp"
#include "app/session/session.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/explanation.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/map_region.hpp"
#include "app/session/values/map_tensors.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/session/values/statistics.hpp"
#include "app/session/values/verification.hpp"
#include "engine/reference/verification.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

/// A budget with room for an outline and one part, but not for all stages.
double tight_budget(const Document& document) {
    const TraceSize size = prepare(document).size;
    const double least = size.outline + size.part;
    EXPECT_LT(least, size.whole);
    return size.parameters + (least + size.whole) / 2;
}

struct Calls {
    std::atomic<int> forward{0}, outline{0}, continued{0}, edited{0};
};

template <class Call>
Call counting(Call call, std::atomic<int>& count) {
    return [&count, call](auto&&... arguments) {
        ++count;
        return call(std::forward<decltype(arguments)>(arguments)...);
    };
}

Computation counted(Calls& calls) {
    Computation engine = Computation::engine();
    engine.forward = counting(engine.forward, calls.forward);
    engine.outline = counting(engine.outline, calls.outline);
    engine.continued = counting(engine.continued, calls.continued);
    engine.edited = counting(engine.edited, calls.edited);
    return engine;
}

/// The same document with ample and with tight memory.
struct TwoSessions {
    explicit TwoSessions(const Document& document) : TwoSessions(document, tight_budget(document)) {}
    TwoSessions(const Document& document, double budget)
        : whole(document, [] {}), tight(
                                      document, [] {}, counted(calls), TrainingEngine::engine(), budget) {
        whole.wait();
        tight.wait();
    }
    Calls calls;
    Session whole, tight;
};

std::vector<std::string> presets_with_layers() {
    std::vector<std::string> names;
    for (const Preset& preset : presets())
        if (preset.document.config.num_layers > 1) names.push_back(preset.name);
    return names;
}

StageId part_of(const Trace<float>& trace, const StageId& id) { return trace.plan->nodes()[trace.plan->part_around(id).first].id; }

std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void expect_same(const Tensor<float>& expected, const Tensor<float>& found) {
    ASSERT_EQ(expected.shape(), found.shape());
    EXPECT_TRUE(std::equal(expected.values().begin(), expected.values().end(), found.values().begin()));
}

/// Drops earlier requests, because the budget has room for one part at a time.
template <class F>
std::shared_ptr<const typename F::Value> only(Session& session, const F& facet) {
    session.want({});
    return session.get(facet);
}

void expect_same_stages(Session& whole, Session& tight) {
    const std::shared_ptr<const Snapshot> all = whole.wait(), outline = tight.wait();
    ASSERT_EQ(all->problem + outline->problem, "");
    ASSERT_TRUE(all->trace->whole());
    ASSERT_FALSE(outline->trace->whole());
    for (const auto& stage : all->trace->stages) {
        SCOPED_TRACE(tensor_name(stage.id));
        const auto inside = only(tight, facet::Inside{part_of(*outline->trace, stage.id)});
        const RecordedStage<float>* found = inside->trace->find(stage.id);
        ASSERT_NE(found, nullptr);
        expect_same(stage.value, found->value);
    }
}

TEST(LargeModel, EveryStageOfEveryPresetIsThatOfAWholeTrace) {
    const std::vector<std::string> names = presets_with_layers();
    EXPECT_GE(names.size(), 3U);
    for (const std::string& name : names) {
        SCOPED_TRACE(name);
        TwoSessions sessions(open_preset(name));
        expect_same_stages(sessions.whole, sessions.tight);
        EXPECT_EQ(sessions.calls.forward, 0);
    }
}

TEST(LargeModel, FacetsOfAStageSayTheSame) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const Trace<float>& trace = *sessions.whole.wait()->trace;
    for (const PlanNode& node : trace.plan->nodes()) {
        SCOPED_TRACE(tensor_name(node.id));
        const facet::Explanation explanation{CellRef{node.id, "", {0, node.has_heads() ? 1 : 2, 0, 0}}};
        const auto expected = only(sessions.whole, explanation), found = only(sessions.tight, explanation);
        EXPECT_EQ(expected->provenance.formula, found->provenance.formula);
        EXPECT_EQ(expected->provenance.recorded, found->provenance.recorded);
        EXPECT_EQ(expected->provenance.terms.size(), found->provenance.terms.size());
        const facet::Statistics statistics{node.id};
        EXPECT_EQ(only(sessions.whole, statistics)->mean, only(sessions.tight, statistics)->mean);
        if (node.id.stage == Stage::Weights)
            expect_same(*only(sessions.whole, facet::HeadMean{node.id}), *only(sessions.tight, facet::HeadMean{node.id}));
    }
}

TEST(LargeModel, WhatIsReadOffAllLayersIsTheSame) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const facet::Totals totals;
    const auto expected_totals = sessions.whole.get(totals), found_totals = only(sessions.tight, totals);
    ASSERT_EQ(expected_totals->totals.size(), found_totals->totals.size());
    for (const auto maps : {&AttentionTotals::rollouts, &AttentionTotals::head_means})
        EXPECT_EQ(((expected_totals->totals[0]).*maps).back().sequence(0), ((found_totals->totals[0]).*maps).back().sequence(0));
    const auto expected = sessions.whole.get(facet::Lens{}), found = only(sessions.tight, facet::Lens{});
    ASSERT_TRUE(found->lens);
    ASSERT_EQ(expected->lens->cells.size(), found->lens->cells.size());
    for (std::size_t i = 0; i < expected->lens->cells.size(); ++i)
        EXPECT_EQ(expected->lens->cells[i].top[0].token, found->lens->cells[i].top[0].token);
    const auto worth = sessions.whole.get(facet::KnockOut{}), found_worth = only(sessions.tight, facet::KnockOut{});
    ASSERT_EQ(worth->parts.size(), found_worth->parts.size());
    for (std::size_t i = 0; i < worth->parts.size(); ++i) EXPECT_EQ(worth->parts[i].without, found_worth->parts[i].without);
}

TEST(LargeModel, ThePartThatIsLookedAtIsVerified) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const Trace<float>& outline = *sessions.tight.wait()->trace;
    std::size_t checked = 0;
    for (std::size_t i = 0; i < outline.plan->nodes().size();) {
        const StageId first = outline.plan->nodes()[i].id;
        const auto verification = only(sessions.tight, facet::Verification{first});
        EXPECT_TRUE(verification->ok) << tensor_name(first);
        checked += verification->stages.size();
        i = outline.plan->part_around(first).end;
    }
    EXPECT_EQ(checked, outline.plan->nodes().size());
}

TEST(LargeModel, OfALongTextFewMapsAreHeld) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const Trace<float>& all = *sessions.whole.wait()->trace;
    const StageId first = part_of(all, {Stage::Weights, 1});
    const auto maps_of = [&](std::optional<Stage> map) {
        std::vector<Stage> found;
        for (const auto& stage : only(sessions.tight, facet::Inside{first, map})->trace->stages) {
            expect_same(all.find(stage.id)->value, stage.value);
            if (is_attention_map(stage.id.stage)) found.push_back(stage.id.stage);
        }
        return found;
    };
    using Maps = std::vector<Stage>;
    EXPECT_EQ(maps_of(std::nullopt), (Maps{Stage::Scores, Stage::Scaled, Stage::Masked, Stage::Weights, Stage::Dropped}));
    EXPECT_EQ(maps_of(Stage::Weights), (Maps{Stage::Masked, Stage::Weights}));
    EXPECT_EQ(maps_of(Stage::Masked), (Maps{Stage::Scaled, Stage::Masked, Stage::Weights})) << "with what it is computed from";
    EXPECT_EQ(maps_of(Stage::Scores), (Maps{Stage::Scores, Stage::Weights}));
    EXPECT_EQ(maps_of(Stage::Dropped), (Maps{Stage::Weights, Stage::Dropped}));
}

TEST(LargeModel, APartThatFindsNoRoomIsRefusedAndTheRestStays) {
    const Document document = open_preset("gpt-tiny");
    const TraceSize size = prepare(document).size;
    Session session(
        document, [] {}, Computation::engine(), TrainingEngine::engine(), size.parameters + size.outline + 1.5 * size.part);
    const Trace<float>& outline = *session.wait()->trace;
    ASSERT_FALSE(outline.whole());
    // Two parts are wanted at once, but the budget only allows the first.
    const StateRef shown = session.states().shown;
    const facet::Inside first = inside_with(outline, {Stage::Weights, 0}), second = inside_with(outline, {Stage::Weights, 1});
    session.want({{shown, first}, {shown, second}});
    EXPECT_TRUE(session.compute(shown, first));
    const auto refused = session.compute(shown, second);
    EXPECT_NE(refused.problem.find("memory budget"), std::string::npos) << refused.problem;
    session.want({{shown, second}});
    EXPECT_TRUE(session.compute(shown, second)) << "it is tried again when there is room";
}

TEST(LargeModel, WhatIsNotThereSaysWhy) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const StageId weights{Stage::Weights, 1};
    const auto missing = [&](Session& session, const StageId& id) {
        return Inquiry(session.results()).missing(session.states().shown, *session.snapshot(), id);
    };
    EXPECT_EQ(missing(sessions.tight, weights).words, "Computing …");
    EXPECT_TRUE(missing(sessions.tight, weights).waits);
    only(sessions.tight, inside_with(*sessions.tight.snapshot()->trace, weights));
    EXPECT_EQ(missing(sessions.tight, weights).words, "");
    EXPECT_EQ(missing(sessions.whole, weights).words, "");
    const StageId none{Stage::Weights, 0, Stack::Main, kCrossAttention};
    EXPECT_EQ(missing(sessions.whole, none).words, "This model has no such stage.");
    EXPECT_FALSE(missing(sessions.whole, none).waits);
}

TEST(LargeModel, ALongTextAsksForTheMapsThatAStageNeeds) {
    Config config = open_preset("gpt-tiny").config;
    config.vocab_size = 5;
    config.context_length = 2048;
    const auto wanted = [&](std::int64_t length, const StageId& id) {
        Trace<float> trace;
        trace.config = config;
        trace.plan = std::make_shared<const Plan>(config);
        trace.tokens = {length, {}, {length}};
        return inside_with(trace, id).map;
    };
    EXPECT_EQ(wanted(64, {Stage::Scores, 0}), std::nullopt);
    EXPECT_EQ(wanted(2048, {Stage::Scores, 0}), Stage::Scores);
    EXPECT_EQ(wanted(2048, {Stage::Context, 0}), Stage::Dropped);
    EXPECT_EQ(wanted(2048, {Stage::Q, 0}), Stage::Weights);
    EXPECT_EQ(wanted(2048, {Stage::Logits}), std::nullopt);
}

/// GPT-2 small with a text that fills its context, without any numbers.
Trace<float> long_text_of_gpt2() {
    Trace<float> trace;
    trace.config.architecture = Architecture::DecoderOnly;
    trace.config.vocab_size = 50257;
    trace.config.context_length = 1024;
    trace.config.d_model = 768;
    trace.config.num_heads = 12;
    trace.config.num_layers = 12;
    trace.config.d_ff = 3072;
    trace.config.lm_head = true;
    trace.plan = std::make_shared<const Plan>(trace.config);
    trace.settings.masks.causal = true;
    trace.tokens = {1024, {}, {1024}};
    return trace;
}

TEST(LargeModel, TheStepViewHoldsLittleOfALongTextComparedWithTheModel) {
    const Trace<float> trace = long_text_of_gpt2();
    const TraceSize size = trace_size(trace.config, 1, 1024, 0);
    EXPECT_FALSE(size.attended);
    EXPECT_LT(size.outline, 40) << "the residual stream";
    for (const PlanNode& node : trace.plan->nodes()) {
        SCOPED_TRACE(tensor_name(node.id));
        if (node.id.layer < 0) continue;
        const facet::Inside one = inside_with(trace, node.id, 3), all = inside_with(trace, node.id);
        EXPECT_LT(size.outline + mib_of(one, trace), 90);
        EXPECT_LE(mib_of(one, trace), mib_of(all, trace));
        const std::vector<StageId> held = stages_of(one, trace);
        const auto holds = [&](const StageId& id) { return std::find(held.begin(), held.end(), id) != held.end(); };
        EXPECT_TRUE(holds(node.id));
        // The inputs of a stage are held too, unless it is the first of the part.
        for (const StageId& input : node.inputs)
            EXPECT_TRUE(holds(input) || input == *trace.plan->part_around(node.id).stream) << tensor_name(input);
    }
    EXPECT_EQ(inside_with(trace, {Stage::Weights, 2}, 3).head, 3);
    EXPECT_EQ(inside_with(trace, {Stage::Weights, 2}).head, std::nullopt);
    EXPECT_EQ(inside_with(trace, {Stage::FfnHidden, 2}, 3).half, LayerHalf::FeedForward);
    EXPECT_EQ(inside_with(trace, {Stage::Logits}, 3), facet::Inside{{Stage::FinalNorm}});
}

/// The sizes of a model whose parameters are said to be stored somewhere, but are never read.
std::shared_ptr<const Parameters<float>> unread_parameters(const Config& config) {
    static const float somewhere = 0;
    const ParameterLayout layout(config);
    std::vector<std::vector<StoredColumns>> entries;
    for (const ParameterInfo& entry : layout.entries()) {
        const ParameterPlace place{&entry, 0, entry.shape[entry.shape.rank() - 1].size};
        entries.push_back({{0, {&somewhere, NumberKind::F32, place.rows(), place.columns, place.columns}}});
    }
    return std::make_shared<const Parameters<float>>(config, std::move(entries), nullptr);
}

TEST(LargeModel, ALongTextOfALargerModelIsNotHeldInProportionToTheModel) {
    Trace<float> trace = long_text_of_gpt2();
    trace.config.d_model = 2048, trace.config.num_heads = 32, trace.config.d_ff = 8192, trace.config.num_layers = 16;
    trace.plan = std::make_shared<const Plan>(trace.config);
    trace.parameters = unread_parameters(trace.config);
    ASSERT_GT(most_beside_model_mib(static_cast<double>(trace.parameters->count()) * 4 / 1024 / 1024), 200);
    for (const StageId& id : {StageId{Stage::Weights, 2}, StageId{Stage::FfnHidden, 2}}) {
        const facet::Inside inside = inside_with(trace, id, 3);
        EXPECT_TRUE(inside.half) << tensor_name(id);
        EXPECT_LT(mib_of(inside, trace), 110) << tensor_name(id);
    }
}

TEST(LargeModel, MapsOfAllHeadsOfALongTextAreHeldReduced) {
    const Trace<float> trace = long_text_of_gpt2();
    const StageId weights{Stage::Weights, 2};
    const facet::Inside heads = inside_with(trace, weights, {}, MapsWanted::Reduced);
    EXPECT_EQ(heads.level, 3);
    EXPECT_EQ(heads.head, std::nullopt);
    EXPECT_LT(mib_of(heads, trace), 50);
    EXPECT_GT(mib_of(inside_with(trace, weights), trace), 90);
    const facet::Inside grid = inside_with(trace, weights, {}, MapsWanted::ReducedAlone);
    EXPECT_EQ(stages_of(grid, trace), std::vector{weights});
    EXPECT_LT(12 * mib_of(grid, trace), 17) << "of all layers";
    // The maps of one head are small enough.
    EXPECT_EQ(inside_with(trace, weights, 3, MapsWanted::Reduced), inside_with(trace, weights, 3));
    Trace<float> longer = trace;
    longer.config.context_length = longer.tokens.length = longer.tokens.lengths[0] = 8192;
    EXPECT_GT(inside_with(longer, weights, 3, MapsWanted::Reduced).level, 3);
    EXPECT_LT(mib_of(inside_with(longer, weights, 3, MapsWanted::Reduced), longer), 300);
    // What cannot be computed in rows is given in full.
    Trace<float> dropped = trace;
    dropped.settings.dropout.attention = 0.5;
    EXPECT_EQ(inside_with(dropped, weights, {}, MapsWanted::Reduced), inside_with(dropped, weights));
    Trace<float> unmasked = trace;
    unmasked.settings.masks.causal = false;
    EXPECT_EQ(inside_with(unmasked, weights, {}, MapsWanted::Reduced), heads) << "any mask can";
}

TEST(LargeModel, AViewOfAllLayersHoldsTheShownMapsOfAShortTextAlone) {
    Trace<float> trace = long_text_of_gpt2();
    trace.tokens = {178, {}, {178}};
    const StageId weights{Stage::Weights, 2};
    for (const MapsWanted wanted : {MapsWanted::NumbersAlone, MapsWanted::ReducedAlone}) {
        const facet::Inside shown = inside_with(trace, weights, {}, wanted);
        EXPECT_EQ(stages_of(shown, trace), std::vector{weights});
        EXPECT_EQ(shown.level, std::nullopt) << "they take less than 20 MiB";
    }
    EXPECT_GT(12 * mib_of(inside_with(trace, weights), trace), 150);
    trace.tokens = {20, {}, {20}};
    EXPECT_EQ(inside_with(trace, weights, {}, MapsWanted::ReducedAlone), inside_with(trace, weights)) << "all layers take little";
    trace.tokens = {512, {}, {512}};
    EXPECT_EQ(inside_with(trace, weights, {}, MapsWanted::NumbersAlone).level, std::nullopt);
    EXPECT_GT(inside_with(trace, weights, {}, MapsWanted::ReducedAlone).level, 0);
}

TEST(LargeModel, AMapHeldAloneIsThatOfAWholeTrace) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const Trace<float>& all = *sessions.whole.wait()->trace;
    for (const Stage stage : {Stage::Scores, Stage::Weights}) {
        const StageId id{stage, 1};
        const facet::Inside alone{.first = part_of(all, id), .map = stage, .maps_alone = true};
        const auto found = only(sessions.tight, alone);
        ASSERT_EQ(found->trace->stages.size(), 1U);
        expect_same(all.find(id)->value, found->trace->find(id)->value);
        EXPECT_EQ(found->trace->find(id)->mask != nullptr, all.find(id)->mask != nullptr);
        EXPECT_EQ(found->head_scores.size(), static_cast<std::size_t>(all.config.num_heads));
        expect_same(head_mean(*all.find(id)), *only(sessions.tight, facet::HeadMean{id, alone}));
    }
}

TEST(LargeModel, NoTextThatFitsTheContextIsTooLongForItsMaps) {
    Config config = long_text_of_gpt2().config;
    config.vocab_size = 400;  // otherwise the logits take more
    const TraceSize in_rows = trace_size(config, 1, 8192, 0, true), at_once = trace_size(config, 1, 8192, 0);
    EXPECT_EQ(in_rows.whole, at_once.whole);
    EXPECT_GT(at_once.part, 10'000);
    EXPECT_LT(in_rows.part, 700);
}

TEST(LargeModel, AReducedMapItsRegionsAndItsStatisticsAreThoseOfItsNumbers) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const Trace<float>& all = *sessions.whole.wait()->trace;
    const StageId weights{Stage::Weights, 1};
    facet::Inside inside{part_of(all, weights)};
    inside.level = 1;
    const Trace<float>& reduced = *only(sessions.tight, inside)->trace;
    ASSERT_NE(reduced.reduced_map(weights), nullptr);
    const RecordedStage<float>& recorded = *all.find(weights);
    const std::int64_t positions = all.tokens.length, head = 1;
    const auto row = only(sessions.tight, facet::MapRegion{weights, {positions - 1, 1, 0, positions, 0}, head});
    for (std::int64_t s = 0; s < positions; ++s) EXPECT_EQ(row->numbers(0)[s], recorded.value(0, head, positions - 1, s));
    const auto counted = only(sessions.tight, facet::Statistics{weights, false, head});
    const std::int64_t cells = positions * positions;
    const NumberGrid grid{recorded.value.data() + head * cells, positions, positions, positions, recorded.mask->keep_row(0, head, 0)};
    const TensorStatistics expected = statistics_of(std::span(&grid, 1));
    EXPECT_EQ(counted->count, expected.count);
    EXPECT_EQ(counted->masked, expected.masked);
    EXPECT_EQ(counted->min, expected.min);
    EXPECT_EQ(counted->max, expected.max);
    EXPECT_EQ(counted->mean, expected.mean);
    EXPECT_EQ(counted->deviation, expected.deviation);
    EXPECT_EQ(counted->histogram, expected.histogram);
}

TEST(LargeModel, DifferencesAndWeightsTimesWhatTheyMoveAreComputedInRows) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const StageId weights{Stage::Weights, 1};
    const Trace<float>& all = *sessions.whole.wait()->trace;
    const StageId earlier{Stage::Weights, 0};
    const RecordedStage<float>&now = *all.find(weights), &before = *all.find(earlier);
    const std::int64_t positions = all.tokens.length, head = 1;
    const MapRegion last{positions - 1, 1, 0, positions, 0};
    facet::MapRegion difference{weights, last, head};
    difference.change.minus = sessions.tight.states().shown;  // the budget has no room for another state
    difference.change.minus_stage = earlier;
    difference.change.minus_head = 0;
    const auto found = only(sessions.tight, difference);
    double differs = 0;
    for (std::int64_t s = 0; s < positions; ++s) {
        const float expected = now.value(0, head, positions - 1, s) - before.value(0, 0, positions - 1, s);
        EXPECT_EQ(found->numbers(0)[s], expected) << s;
        differs += std::abs(static_cast<double>(expected));
    }
    EXPECT_GT(differs, 0);
    facet::MapRegion moved{weights, last};
    moved.change.norm_weighted = true;
    const auto lengths = sessions.whole.get(facet::ValueNorms{weights});
    const auto times = only(sessions.tight, moved);
    for (std::int64_t s = 0; s < positions; ++s)
        EXPECT_EQ(times->numbers(head)[s], now.value(0, head, positions - 1, s) * (*lengths)(0, head, s)) << s;
}

/// Whole traces and outlines give the same; both as double loops over the recorded numbers.
TEST(LargeModel, ChangedSlicesAreThoseOfTheirNumbers) {
    Document document = open_preset("llama-tiny");
    document.texts = {"the cat sat on the mat", "a dog sat down"};
    const TraceSize size = prepare(document).size;
    TwoSessions sessions(document, size.parameters + 0.99 * size.whole);
    ASSERT_FALSE(sessions.tight.wait()->trace->whole());
    const Trace<float>& all = *sessions.whole.wait()->trace;
    ASSERT_GT(all.config.num_heads, all.config.num_kv_heads) << "heads share keys";
    const StageId weights{Stage::Weights, 1}, keys{Stage::K, 1};
    const Tensor<float>&now = all.find(weights)->value, &k = all.find(keys)->value;
    const std::int64_t positions = now.shape()[2].size, heads = all.config.num_heads;
    const auto lengths = sessions.whole.get(facet::ValueNorms{weights});
    for (Session* session : {&sessions.whole, &sessions.tight}) {
        const StateRef& shown = session->states().shown;
        const Trace<float>& held = *session->snapshot()->trace;
        const auto part = held.whole() ? std::nullopt : std::optional(inside_with(held, weights));
        const StageId earlier{Stage::Weights, session == &sessions.whole ? 0 : 1};  // the budget has no room for another part
        const Tensor<float>& before = all.find(earlier)->value;
        facet::ChangedSlice difference{.stage = weights, .sequence = 1, .head = 1, .part = part, .minus_part = part};
        difference.change = {.minus = shown, .minus_stage = earlier, .minus_head = 0};
        const auto found = only(*session, difference);
        facet::ChangedSlice of_mean = difference;
        of_mean.head = -1;
        of_mean.change.minus_head = -1;
        of_mean.minus_sequence = 1;
        const auto mean = only(*session, of_mean);
        facet::ChangedSlice rest{.stage = weights, .sequence = 1, .head = 2, .part = part};
        rest.change.without_first_key = true;
        const auto without_first = only(*session, rest);
        rest.change.norm_weighted = true;
        const auto both = only(*session, rest);
        double differs = 0;
        for (std::int64_t t = 0; t < positions; ++t)
            for (std::int64_t s = 0; s < positions; ++s) {
                const auto at = static_cast<std::size_t>(t * positions + s);
                EXPECT_EQ(found->values[at], now(1, 1, t, s) - before(0, 0, t, s));
                differs += std::abs(static_cast<double>(found->values[at]));
                double sum = 0, average = 0;
                for (std::int64_t other = 1; other < positions; ++other) sum += static_cast<double>(now(1, 2, t, other));
                for (std::int64_t head = 0; head < heads; ++head)
                    average += static_cast<double>(now(1, head, t, s) - before(1, head, t, s));
                EXPECT_NEAR(mean->values[at], average / static_cast<double>(heads), 1e-6);
                const float share = s == 0 || sum == 0 ? 0 : static_cast<float>(static_cast<double>(now(1, 2, t, s)) / sum);
                EXPECT_EQ(without_first->values[at], share);
                EXPECT_EQ(both->values[at], share * (*lengths)(1, 2, s));
                const bool masked = s == 0 || all.find(weights)->mask->keep_row(1, 2, t)[s] == 0;
                EXPECT_EQ(without_first->keep[at] == 0, masked) << t << ' ' << s;
            }
        EXPECT_GT(differs, 0);
        const NumberGrid grid{found->values.data(), positions, positions, positions, found->keep.empty() ? nullptr : found->keep.data()};
        EXPECT_EQ(found->statistics.mean, statistics_of(std::span(&grid, 1)).mean);
        facet::ChangedSlice of_keys{.stage = keys, .sequence = 0, .head = 1, .part = part, .minus_part = part};
        of_keys.change = {.minus = shown, .minus_stage = keys, .minus_head = 0};
        const auto between_keys = only(*session, of_keys);
        for (std::int64_t s = 0; s < positions; ++s)
            for (std::int64_t d = 0; d < k.shape()[3].size; ++d)
                EXPECT_EQ(between_keys->values[static_cast<std::size_t>(s * k.shape()[3].size + d)], k(0, 1, s, d) - k(0, 0, s, d));
        facet::ChangedSlice no_such = difference;
        no_such.sequence = 2;
        EXPECT_FALSE(session->compute(no_such));
        no_such = difference;
        no_such.change.minus_stage = keys;
        EXPECT_FALSE(session->compute(no_such)) << "other shapes";
        const auto counted = only(*session, facet::Statistics{.stage = weights, .head = 1, .sequence = 1, .part = part});
        const NumberGrid of_head{now.data() + (heads + 1) * positions * positions, positions, positions, positions,
                                 all.find(weights)->mask->keep_row(1, 1, 0)};
        EXPECT_EQ(counted->mean, statistics_of(std::span(&of_head, 1)).mean);
        EXPECT_EQ(counted->masked, statistics_of(std::span(&of_head, 1)).masked);
        const auto of_key_head = only(*session, facet::Statistics{.stage = keys, .head = 1, .sequence = 0, .part = part});
        EXPECT_EQ(of_key_head->count, positions * k.shape()[3].size) << "not a map";
        if (!held.whole()) {
            EXPECT_FALSE(session->compute(facet::Statistics{.stage = keys, .head = 1})) << "no rows of maps hold keys";
        }
    }
}

/// The numbers come with the new state, so that nothing is missing in between.
TEST(LargeModel, AStateComparedWithItselfIsReplacedOnBothSides) {
    Session session(open_preset("gpt-tiny"), [] {});
    session.wait();
    facet::ChangedSlice slice{.stage = {Stage::Weights, 1}, .head = 1};
    slice.change = {.minus = session.states().shown, .minus_stage = {Stage::Weights, 0}};
    session.want({{session.states().shown, slice}});
    session.apply({command::SetTexts{{"a text of another length"}, {}}, ""});
    session.wait();
    const StateRef now = session.states().shown;
    ASSERT_NE(now, slice.change.minus);
    EXPECT_FALSE(session.results().find(Request{now, slice}));
    slice.change.minus = now;
    EXPECT_TRUE(session.results().find(now, slice));
}

/// In the frame in which another view is chosen, the part that the one before asked for is not needed any more.
TEST(LargeModel, PartsThatWereAskedForCanBeTakenBack) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    sessions.tight.wait();
    const facet::Inside inside{{Stage::Norm1, 1}};
    const auto part = only(sessions.tight, inside);
    const StateRef state = sessions.tight.states().shown;
    Inquiry inquiry(sessions.tight.results());
    ASSERT_TRUE(inquiry.ask(state, facet::Trace{}));
    ASSERT_EQ(inquiry.ask(state, inside).value, part);
    ASSERT_EQ(inquiry.wanted().size(), 2U);
    inquiry.forget_parts();
    ASSERT_EQ(inquiry.wanted().size(), 1U);
    EXPECT_TRUE(inquiry.wanted()[0].facet.as<facet::Trace>() != nullptr);
    // What is drawn afterwards is asked for again.
    EXPECT_TRUE(inquiry.ask(state, inside));
    EXPECT_EQ(inquiry.wanted().size(), 2U);
}

TEST(LargeModel, WhatIsCountedOfTotalsIsWhatTheyHold) {
    Document document = open_preset("encoder-decoder");
    document.config.encoder_layers = document.config.num_layers + 3;
    document.trained.reset();
    document.texts = {"b a"};
    document.source_texts = {"a b c d e f"};
    Session session(document, [] {});
    const auto snapshot = session.wait();
    ASSERT_EQ(snapshot->problem, "");
    ASSERT_NE(snapshot->trace->tokens.length, snapshot->trace->source_tokens.length);
    const auto readings = session.get(facet::Totals{});
    double numbers = 0, held = 0;
    for (const AttentionTotals& totals : readings->totals)
        for (const auto* maps : {&totals.head_means, &totals.rollouts})
            for (const TokenMap& map : *maps) {
                const auto positions = static_cast<double>(map.positions());
                numbers += positions * positions;
                held += totals.stack == Stack::Decoder ? positions * (positions + 1) / 2 : positions * positions;
            }
    EXPECT_EQ(mib_of_totals(*snapshot->trace), numbers * sizeof(float) / (1024 * 1024));
    EXPECT_EQ(mib_of(*readings), held * sizeof(float) / (1024 * 1024)) << "only the decoder is causal";
}

/// Files hold whole maps, which a view of the same text never has at once.
TEST(LargeModel, AFileOfMapsThatNoMemoryHoldsIsRefusedBeforehand) {
    Trace<float> trace = long_text_of_gpt2();
    const StageId weights{Stage::Weights, 0};
    trace.tokens = {1 << 16, {}, {1 << 16}};
    EXPECT_THROW(expect_room_for_part(trace, weights, 1000), DocumentError);
    EXPECT_NO_THROW(expect_room_for_part(trace, {Stage::Embedding, -1}, 1000)) << "what has no maps";
    trace.tokens = {64, {}, {64}};
    EXPECT_NO_THROW(expect_room_for_part(trace, weights, 1000));
    EXPECT_THROW(expect_room_for_part(trace, weights, 0.1), DocumentError);
}

TEST(LargeModel, FilesKeepToTheMemoryThatWasSet) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    Snapshot tight = *sessions.tight.wait();
    EXPECT_EQ(tight.budget_mib, tight_budget(open_preset("gpt-tiny")));
    ASSERT_FALSE(tight.trace->whole());
    const StageId inside{Stage::Scores, 1};
    EXPECT_NO_THROW(trace_with(tight, inside));
    tight.budget_mib = 1e-3;
    EXPECT_THROW(trace_with(tight, inside), DocumentError);
    EXPECT_THROW(whole_trace(tight), DocumentError);
}

TEST(LargeModel, AShortTextIsHeldAsItWas) {
    Trace<float> trace = long_text_of_gpt2();
    trace.tokens = {64, {}, {64}};
    EXPECT_TRUE(trace_size(trace.config, 1, 64, 0).attended);
    for (const PlanNode& node : trace.plan->nodes())
        EXPECT_EQ(inside_with(trace, node.id, 3), facet::Inside{part_of(trace, node.id)}) << tensor_name(node.id);
}

TEST(LargeModel, WhatIsCountedOfAPartIsWhatItTakes) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const Trace<float>& outline = *sessions.tight.wait()->trace;
    for (facet::Inside inside : {facet::Inside{{Stage::Norm1, 1}}, facet::Inside{{Stage::Norm1, 1}, Stage::Scores},
                                 facet::Inside{{Stage::Norm1, 1}, {}, {}, LayerHalf::FeedForward},
                                 facet::Inside{{Stage::Norm1, 1}, {}, {}, LayerHalf::Attention}}) {
        const auto found = only(sessions.tight, inside);
        double bytes = 0;
        for (const auto& stage : found->trace->stages)
            if (stage.id.layer == 1) bytes += static_cast<double>(stage.value.size()) * sizeof(float);
        EXPECT_NEAR(bytes / (1 << 20), mib_of(inside, outline), 1e-9);
    }
}

TEST(LargeModel, TextsOfOneModelShareItsWords) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const auto outline = sessions.tight.wait();
    EXPECT_TRUE(only(sessions.tight, facet::Inside{{Stage::Norm1, 0}})->vocabulary.shares_with(outline->vocabulary));
    EXPECT_FALSE(sessions.whole.wait()->vocabulary.shares_with(outline->vocabulary));
    EXPECT_EQ(sessions.whole.wait()->vocabulary, outline->vocabulary);
}

TEST(LargeModel, FilesHaveTheSameBytes) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const test::TemporaryFolder folder;
    const Snapshot &all = *sessions.whole.wait(), &outline = *sessions.tight.wait();
    const auto same_bytes = [&](const std::string& name, const auto& write) {
        write(folder / ("whole" + name), all);
        write(folder / ("outline" + name), outline);
        const std::string expected = bytes_of(folder / ("whole" + name));
        EXPECT_GT(expected.size(), 1000U);
        EXPECT_TRUE(expected == bytes_of(folder / ("outline" + name))) << name;
    };
    const TensorChoice choice{{Stage::Context, 1}, {}, {}, false, ""};
    same_bytes(".safetensors", [](const auto& path, const Snapshot& snapshot) { write_snapshot_trace(path, snapshot); });
    same_bytes(".csv", [&](const auto& path, const Snapshot& snapshot) { write_tensor_csv(path, snapshot, choice); });
    same_bytes("-one.safetensors", [&](const auto& path, const Snapshot& snapshot) { write_tensor_safetensors(path, snapshot, choice); });
    const TensorChoice parameter{{}, {}, {}, false, "token_embedding.weight"};
    same_bytes("-parameter.safetensors",
               [&](const auto& path, const Snapshot& snapshot) { write_tensor_safetensors(path, snapshot, parameter); });
}

TEST(LargeModel, ATypedWordIsAllThatIsComputed) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    const std::string text = sessions.whole.document().texts[0];
    const auto look = [&] { sessions.tight.want({{sessions.tight.states().shown, facet::Inside{{Stage::Norm1, 0}}}}); };
    look();
    for (const std::string& typed : {text + " last", text + " last little", text + " last", std::string("a model learns")}) {
        for (Session* session : {&sessions.whole, &sessions.tight}) session->apply({command::SetTexts{{typed}, {}}, ""});
        SCOPED_TRACE(typed);
        sessions.tight.wait();
        look();
        // Only a text of the first one's length exceeds the budget.
        if (sessions.tight.wait()->trace->whole()) continue;
        expect_same_stages(sessions.whole, sessions.tight);
    }
    EXPECT_EQ(sessions.calls.outline, 1);
    EXPECT_GE(sessions.calls.continued, 2);
}

TEST(LargeModel, AnEditIsMadeFromItsLayerOn) {
    TwoSessions sessions(open_preset("gpt-tiny"));
    ForwardSettings forward = sessions.whole.document().forward;
    Edit edit;
    edit.at = {Stage::Weights, 2};
    edit.head = 1;
    edit.kind = EditKind::Scale;
    edit.value = 0;
    forward.edits = {edit};
    sessions.tight.want({{sessions.tight.states().shown, facet::Inside{{Stage::Norm1, 0}}}});
    for (Session* session : {&sessions.whole, &sessions.tight}) session->apply({command::SetForward{forward}, ""});
    expect_same_stages(sessions.whole, sessions.tight);
    EXPECT_EQ(sessions.calls.outline, 1);
    EXPECT_EQ(sessions.calls.edited, 1);
}

TEST(LargeModel, WhatHasNoRoomAtAllIsRefused) {
    const Document document = open_preset("gpt-tiny");
    Session session(
        document, [] {}, Computation::engine(), TrainingEngine::engine(), prepare(document).size.parameters);
    EXPECT_NE(session.wait()->problem.find("memory budget"), std::string::npos) << session.wait()->problem;
}

TEST(ProductsToCheck, AreThoseOfTheLinearMapsAndOfAttention) {
    Document document;
    document.texts = {"a b c a b"};
    document.config.d_model = 16;
    document.config.num_heads = 2;
    document.config.d_ff = 24;
    document.config.lm_head = true;
    Session session(document, [] {});
    const auto snapshot = session.wait();
    const Trace<float>& trace = *snapshot->trace;
    const double tokens = 5, width = 16, heads = 2, vocabulary = static_cast<double>(trace.config.vocab_size);
    const double layer = tokens * (4 * width * width + 2 * width * 24) + 2 * heads * tokens * tokens * (width / heads);
    EXPECT_EQ(products_to_check(trace, {Stage::Weights, 0}), layer);
    EXPECT_EQ(products_to_check(trace, {Stage::FfnOut, 0}), layer) << "it is one part";
    EXPECT_EQ(products_to_check(trace, {Stage::Logits, -1}), tokens * width * vocabulary);
    EXPECT_EQ(products_to_check(trace, {Stage::Tokens, -1}), 0);
}

}  // namespace
}  // namespace attn::app
