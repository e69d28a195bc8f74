/// Comparison of states, layers, heads and sequences: what is on either side, and the message if a side is missing.

#include "app/panels/compare/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "app/panels/compare/head_captions.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/views/shown_numbers.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/session.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/widgets/number.hpp"
#include "engine/model/transformer.hpp"
#include "engine/trace/attention_totals.hpp"
#include "engine/trace/head_scores.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class ComparisonTest : public InterfaceFixture {
protected:
    ComparisonTest() { carry_out = false; }

    void set_text(const std::string& text) {
        session->apply({command::SetTexts{{text}, {}}, ""});
        session->wait();
    }
};

TEST_F(ComparisonTest, ShowsValuesAndTheKeyOfGradientsSaysSo) {
    open_example("gpt-tiny");
    type("d", ui_frame);
    with_context([](const PanelContext& context) { EXPECT_TRUE(context.wants_gradients()) << "the negative control"; });
    view.compare.choose(Compare::Unmasked);
    frames(2, ui_frame);
    with_context([](const PanelContext& context) { EXPECT_FALSE(context.wants_gradients()); });
    EXPECT_TRUE(all<command::TellFile>().empty());
    type("d", ui_frame);
    frames(2, ui_frame);
    ASSERT_EQ(all<command::TellFile>().size(), 1U);
    EXPECT_EQ(all<command::TellFile>()[0].notice, "A comparison shows values. End it (key B) to see gradients.");
    EXPECT_TRUE(view.gradients) << "the switch stays where it was";
}

TEST_F(ComparisonTest, EverySourceIsListedOnceWithWords) {
    std::set<Compare> seen;
    for (const CompareSource& source : compare_sources()) {
        EXPECT_NE(source.source, Compare::Off);
        EXPECT_TRUE(seen.insert(source.source).second) << source.name;
        EXPECT_FALSE(source.name.empty());
        EXPECT_FALSE(source.tooltip.empty());
    }
    open_example("causal-attention");
    // Missing states say so in a sentence.
    for (const CompareSource& source : compare_sources())
        with_context([&](PanelContext& context) {
            const ComparedState state = compared_state(context, source);
            EXPECT_EQ(state.snapshot == nullptr, !state.missing.empty()) << source.name;
        });
}

TEST_F(ComparisonTest, AnyHeadLayerAndTextOfOneState) {
    open_example("gpt-tiny");
    session->apply({command::SetTexts{{"the same words", "some other words here"}, {}}, ""});
    session->wait();
    view.stage = {Stage::Weights, 1};
    view.head = 2;
    view.compare.choose(Compare::Itself);
    view.compare.layer = 0;
    view.compare.head = 1;
    view.compare.batch = 1;
    with_context([&](PanelContext& context) {
        const ComparedSides sides = compared_sides(context, view.stage, view.head);
        ASSERT_FALSE(sides.a.empty()) << sides.a.missing.words;
        EXPECT_EQ(sides.a.name, "layer 0, head 1, text 2");
        EXPECT_EQ(sides.b.name, "layer 1, head 2, text 1");
        const Matrix a = slice_of(context, sides.a), b = slice_of(context, sides.b), difference = context.numbers().difference(b, a).map;
        ASSERT_FALSE(difference.empty());
        const Tensor<float>&before = trace().find({Stage::Weights, 0})->value, &after = trace().find({Stage::Weights, 1})->value;
        for (std::int64_t t = 0; t < a.data.rows; ++t)
            for (std::int64_t s = 0; s < a.data.cols; ++s) {
                EXPECT_EQ(a.at(t, s), before(1, 1, t, s));
                EXPECT_EQ(b.at(t, s), after(0, 2, t, s));
                EXPECT_EQ(difference.at(t, s), after(0, 2, t, s) - before(1, 1, t, s));
            }
    });
}

TEST_F(ComparisonTest, TotalsAndLensCompareWholeTraces) {
    open_example("gpt-tiny");
    view.compare.choose(Compare::Unmasked);
    const auto large_maps = [&](View shown, CompareLayout layout) {
        view.view = shown;
        view.compare.layout = layout;
        frames(2, ui_frame);
        canvas.calls.clear();
        frame(ui_frame);
        return std::count_if(canvas.calls.begin(), canvas.calls.end(), [](const auto& call) { return call.max.y - call.min.y > 110; });
    };
    EXPECT_EQ(large_maps(View::Totals, CompareLayout::All), 3);
    EXPECT_EQ(large_maps(View::Totals, CompareLayout::SideBySide), 2);
    EXPECT_EQ(large_maps(View::Totals, CompareLayout::Difference), 1);
    EXPECT_EQ(large_maps(View::Totals, CompareLayout::InPlace), 1);
    for (const CompareLayout layout : {CompareLayout::All, CompareLayout::InPlace}) EXPECT_EQ(large_maps(View::Lens, layout), 0);
    with_context([&](PanelContext& context) {
        const ComparedReading<facet::Lens> compared = compared_lens(context);
        EXPECT_EQ(compared.reading, context.inquiry.ask(context.states.unmasked, facet::Lens{}).value.get());
        EXPECT_EQ(compared.name, "unmasked");
    });
    // Another head of the same state cannot be compared in this view, which says so.
    view.compare.choose(Compare::Itself);
    with_context([&](PanelContext& context) {
        EXPECT_EQ(compared_lens(context).reading, nullptr);
        EXPECT_NE(compared_lens(context).missing.words, "");
    });
    EXPECT_EQ(large_maps(View::Totals, CompareLayout::All), 1) << "the shown state stays";
}

/// A text whose maps are held reduced, unless the mistake mixes positions; then they are held in full.
Document long_text_with(Mistake mistake) {
    Document document = open_preset("gpt-tiny");
    document.config.num_layers = 3;
    document.config.num_heads = 2;
    document.config.d_model = document.config.d_ff = 8;
    document.config.context_length = 1500;
    document.texts = {"the"};
    for (int i = 1; i < 1500; ++i) document.texts[0] += i % 3 == 0 ? " cat" : i % 7 == 0 ? " sat" : " the";
    document.forward.mistake = mistake;
    return document;
}

TEST_F(ComparisonTest, AReducedAndAFullMapHaveADifference) {
    const Document document = long_text_with(Mistake::SoftmaxOverQueries);
    const TraceSize size = prepare(document).size;
    constexpr double kForTheParts = 40;
    session = std::make_unique<Session>(
        document, [] {}, Computation::engine(), TrainingEngine::engine(), size.parameters + size.outline + size.part + kForTheParts);
    const std::shared_ptr<const Snapshot> shown = session->wait();
    ASSERT_FALSE(shown->trace->whole());
    view.stage = {Stage::Weights, 1};
    view.head = 1;
    view.compare.choose(Compare::Correct);
    view.compare.layout = CompareLayout::Difference;
    const auto numbers_of = [&](Mistake mistake) {
        ForwardSettings settings = shown->trace->settings;
        settings.mistake = mistake;
        const Trace<float> whole = trace_forward<float>(shown->trace->parameters, shown->trace->tokens, {}, settings);
        return *whole.find(view.stage);
    };
    const RecordedStage<float> wrong = numbers_of(Mistake::SoftmaxOverQueries), right = numbers_of(Mistake::None);
    for (const bool swapped : {false, true}) {
        view.compare.swapped = swapped;
        with_context([&](PanelContext& context) {
            const ComparisonPicture picture = comparison_picture(context, compared_sides(context, view.stage, view.head));
            ASSERT_EQ(picture.problem.words, "");
            const Matrix& map = picture.equation.result;
            ASSERT_TRUE(map.is_difference);
            ASSERT_GT(map.data.level, 0);
            const std::int64_t side = std::int64_t{1} << map.data.level;
            float largest = 0;
            for (const std::int64_t at : {std::int64_t{0}, std::int64_t{256}, std::int64_t{640}}) {
                float expected = 0;
                for (std::int64_t t = at; t < at + side; ++t)
                    for (std::int64_t s = at; s < at + side; ++s) {
                        const float difference = wrong.value(0, 1, t, s) - right.value(0, 1, t, s);
                        if (std::abs(difference) > std::abs(expected)) expected = difference;
                    }
                const std::int64_t block = at / side * map.data.row_stride + at / side;
                EXPECT_EQ(std::abs(map.data.values[block]), std::abs(expected)) << at;
                largest = std::max(largest, std::abs(expected));
            }
            EXPECT_GT(largest, 0);
        });
    }
}

TEST_F(ComparisonTest, AnEditedLongTextIsComparedWithoutItsWholeMaps) {
    Document document = long_text_with(Mistake::None);
    Edit edit;
    edit.at = {Stage::Scores, 1};
    edit.head = 1, edit.row = 700, edit.column = 300, edit.value = 5;
    document.forward.edits = {edit};
    const TraceSize size = prepare(document).size;
    constexpr double kForTheParts = 40;  // MiB; the maps of a layer take 86
    session = std::make_unique<Session>(
        document, [] {}, size.parameters + 2 * size.outline + size.part + kForTheParts);
    ASSERT_FALSE(session->wait()->trace->whole());
    view.stage = {Stage::Scores, 1};
    view.head = 1;
    view.compare.choose(Compare::Plain);
    view.compare.layout = CompareLayout::Difference;
    const auto difference_at = [&](std::int64_t row, std::int64_t column) {
        float found = 0;
        with_context([&](PanelContext& context) {
            const ComparisonPicture picture = comparison_picture(context, compared_sides(context, view.stage, view.head));
            ASSERT_EQ(picture.problem.words, "");
            const HeatmapData& data = picture.equation.result.data;
            ASSERT_GT(data.level, 0);
            found = data.values[(row >> data.level) * data.row_stride + (column >> data.level)];
        });
        return found;
    };
    EXPECT_NE(difference_at(700, 300), 0);
    EXPECT_EQ(difference_at(700, 400), 0);
}

TEST_F(ComparisonTest, APendingDifferenceShowsNoOtherNumbers) {
    Document document = long_text_with(Mistake::None);
    Edit edit;
    edit.at = {Stage::Scores, 1};
    edit.head = 1, edit.row = 700, edit.column = 300, edit.value = 5;
    document.forward.edits = {edit};
    const TraceSize size = prepare(document).size;
    constexpr double kForTheParts = 40;
    session = std::make_unique<Session>(
        document, [] {}, size.parameters + 2 * size.outline + size.part + kForTheParts);
    ASSERT_FALSE(session->wait()->trace->whole());
    view.stage = {Stage::Weights, 1};
    view.compare.choose(Compare::Plain);
    view.compare.layout = CompareLayout::Difference;
    instant = false;
    bool there = false, waited = false;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!there && std::chrono::steady_clock::now() < give_up) {
        with_context([&](PanelContext& context) {
            const Matrix map = shown_slice(context, view.stage, 1);
            if (shown_title(context, view.stage) != "Weights: B − A") return;
            waited = waited || map.empty();
            there = map.is_difference;
            EXPECT_TRUE(map.empty() || map.is_difference);
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(there);
    EXPECT_TRUE(waited);
}

TEST_F(ComparisonTest, WhatFindsNoRoomSaysSoInPlaceOfTheDifference) {
    const Document document = long_text_with(Mistake::SoftmaxOverQueries);
    const TraceSize size = prepare(document).size;
    session = std::make_unique<Session>(
        document, [] {}, Computation::engine(), TrainingEngine::engine(), size.parameters + size.outline + size.part + 1);
    session->wait();
    view.stage = {Stage::Weights, 1};
    view.compare.choose(Compare::Correct);
    view.compare.layout = CompareLayout::Difference;
    for (const bool swapped : {false, true}) {
        view.compare.swapped = swapped;
        with_context([&](PanelContext& context) {
            const ComparisonPicture picture = comparison_picture(context, compared_sides(context, view.stage, 0));
            EXPECT_NE(picture.problem.words.find("MiB"), std::string::npos) << picture.problem.words;
            EXPECT_FALSE(picture.problem.waits);
        });
    }
}

TEST_F(ComparisonTest, AnotherStepIsChosenAmongThoseThatAreKept) {
    open_example("causal-attention");
    with_context([&](PanelContext& context) {
        view.compare.choose(Compare::Moment);
        const ComparedSide side = reference_side(context, view.stage, 0);
        EXPECT_TRUE(side.empty());
        EXPECT_NE(side.missing.words, "") << "nothing is trained";
    });
    RunSettings run = default_run(TaskKind::Copy);
    run.model.d_model = 8;
    run.model.num_heads = 1;
    run.model.d_ff = 8;
    run.stop = {.steps = 12};
    session->apply({command::SetRun{run}, ""});
    session->apply({command::StartTraining{}, ""});
    session->wait_for_training();
    carry_out = true;
    with_context([](PanelContext& context) { compare_with_step(context, 3); });
    EXPECT_EQ(session->other_step(), 3);
    with_context([&](PanelContext& context) {
        view.stage = {Stage::Weights, 0};
        const ComparedSides sides = compared_sides(context, view.stage, 0);
        ASSERT_FALSE(sides.a.empty()) << sides.a.missing.words;
        EXPECT_EQ(sides.a.name, "step 3");
        EXPECT_EQ(sides.b.name, "shown");
    });
    with_context([](PanelContext& context) { compare_with_step(context, 999); });
    EXPECT_EQ(session->other_step(), 12);
    frames(2, ui_frame);
}

/// A comparison state is computed only while a view shows it.
TEST_F(ComparisonTest, AStateComparedWithItselfIsSaidToBeTheSame) {
    open_example("stories");
    view.view = View::Heads;
    view.stage = {Stage::Weights, 0};
    frames(2, ui_frame);
    pin();
    view.compare.choose(Compare::Pinned);
    frames(4, ui_frame);
    ASSERT_TRUE(view.compare.on());
    const auto said = [&] {
        std::string words;
        with_context([&](PanelContext& context) { words = shown_remark(context, view.stage).words; });
        return words;
    };
    EXPECT_EQ(said().rfind("A and B are the same", 0), 0U) << said();
    with_context([&](PanelContext& context) { EXPECT_NE(shown_title(context, view.stage).find("B − A"), std::string::npos); });
    ForwardSettings forward = session->document().forward;
    forward.masks.window = 3;
    session->apply({command::SetForward{forward}, ""});
    session->wait();
    frames(4, ui_frame);
    EXPECT_EQ(said(), "");
}

TEST_F(ComparisonTest, APinnedStateSaysThatItIsTheShownOneUntilSomethingChanges) {
    open_example("gpt-tiny");
    view.stage = {Stage::Weights, 0};
    frames(2, ui_frame);
    pin();
    view.compare.choose(Compare::Pinned);
    frames(3, ui_frame);
    const auto said = [&] {
        std::string words;
        with_context(
            [&](PanelContext& context) { words = comparison_picture(context, compared_sides(context, view.stage, view.head)).remark; });
        return words;
    };
    EXPECT_EQ(said(), "A and B are the same, so every difference is 0. Change the text, a mask or a number.");
    with_context([&](PanelContext& context) { EXPECT_TRUE(compared_lens(context).one_state && compared_totals(context).one_state); });
    set_text("the dog sat");
    frames(3, ui_frame);
    EXPECT_EQ(said().find("A and B are the same"), std::string::npos) << said();
    with_context([&](PanelContext& context) { EXPECT_FALSE(compared_lens(context).one_state); });
}

TEST_F(ComparisonTest, AStageBeforeTheFirstDifferenceNamesIt) {
    open_example("gpt-tiny");
    ASSERT_GT(trace().config.num_layers, 1);
    view.compare.choose(Compare::Unmasked);
    const auto said_at = [&](const StageId& id) {
        view.stage = id;
        frames(2, ui_frame);
        session->wait();
        frames(2, ui_frame);
        std::string in_step, in_heads;
        with_context([&](PanelContext& context) {
            in_step = comparison_picture(context, compared_sides(context, id, view.head)).remark;
            in_heads = shown_remark(context, id).words;
        });
        EXPECT_EQ(in_step, in_heads);
        return in_step;
    };
    // The first mask comes right after the first layer's scores have been scaled.
    for (const Stage stage : {Stage::Q, Stage::Scores, Stage::Scaled})
        EXPECT_EQ(said_at({stage, 0}), "A and B do not differ here. The first stage in which they do is “Masked” in layer 0.");
    EXPECT_EQ(said_at({Stage::Masked, 0}), "");
    EXPECT_EQ(said_at({Stage::Scores, 1}), "") << "it depends on what was masked before";
    view.compare.layer = 0;
    EXPECT_EQ(said_at({Stage::Scores, 1}), "") << "two layers differ in any stage";
}

TEST_F(ComparisonTest, RedoBringsTheComparisonBackWithItsPin) {
    open_example("gpt-tiny");
    const auto step = [this](auto command) {
        session->apply({command, ""});
        frames(2, ui_frame);
    };
    pin();
    view.compare.choose(Compare::Pinned);
    frames(2, ui_frame);
    ASSERT_EQ(view.compare.source, Compare::Pinned);
    step(command::Undo{});
    EXPECT_FALSE(view.compare.on()) << "nothing is pinned";
    step(command::Redo{});
    EXPECT_EQ(view.compare.source, Compare::Pinned);
    view.compare.choose(Compare::Off);
    step(command::Undo{});
    step(command::Redo{});
    EXPECT_FALSE(view.compare.on()) << "it was switched off";
}

TEST_F(ComparisonTest, APinnedStateIsReadWhenAViewWantsIt) {
    open_example("gpt-tiny");
    const auto lens_of_it = get(facet::Lens{});
    const auto totals_of_it = get(facet::Totals{});
    pin();
    set_text("some other words");
    view.compare.choose(Compare::Pinned);
    view.compare.layout = CompareLayout::SideBySide;
    const auto asks_to_read = [&](View shown, const Facet& facet = facet::Lens{}) {
        view.view = shown;
        bool asks = false;
        frame([&] {
            with_context([&](PanelContext& context) {
                draw_frame(context);
                const auto& wanted = context.inquiry.wanted();
                asks = std::find(wanted.begin(), wanted.end(), Request{context.states.pinned_a, facet}) != wanted.end();
            });
        });
        return asks;
    };
    EXPECT_FALSE(asks_to_read(View::Step)) << "this view needs none";
    EXPECT_TRUE(asks_to_read(View::Totals, facet::Totals{}));
    EXPECT_TRUE(asks_to_read(View::Lens));
    view.view = View::Totals;
    frames(2, ui_frame);
    with_context([&](PanelContext& context) {
        const ComparedReading<facet::Totals> then = compared_totals(context);
        ASSERT_NE(then.reading, nullptr) << then.missing.words;
        EXPECT_EQ(then.missing.words, "");
        const auto rollout = [](const TotalsReading& reading) { return reading.of(Stack::Main)->rollouts.back().sequence(0); };
        EXPECT_EQ(rollout(*then.reading), rollout(*totals_of_it));
        const ComparedReading<facet::Lens> lens = compared_lens(context);
        ASSERT_NE(lens.reading, nullptr) << lens.missing.words;
        EXPECT_EQ(lens.reading->lens->positions, lens_of_it->lens->positions);
    });
    canvas.calls.clear();
    frame(ui_frame);
    EXPECT_EQ(std::count_if(canvas.calls.begin(), canvas.calls.end(), [](const auto& call) { return call.max.y - call.min.y > 90; }), 2);
    // Until it is computed, the view says so.
    with_context([&](PanelContext& context) {
        Inquiry nothing_yet{Results()};
        PanelContext early{{.theme = context.theme,
                            .canvas = context.canvas,
                            .document = context.document,
                            .inquiry = nothing_yet,
                            .training = context.training,
                            .view = context.view,
                            .number_store = context.number_store,
                            .commands = context.commands},
                           context.snapshot,
                           context.states};
        const Reason awaited = compared_lens(early).missing;
        EXPECT_EQ(awaited.words, "That state is being computed.");
        EXPECT_TRUE(awaited.waits);
    });
}

/// The shown state stays the same while one moment after the other is compared with it, possibly at an address that another one had before.
TEST_F(ComparisonTest, DifferencesAreThoseOfTheStepThatIsCompared) {
    open_example("causal-attention");
    RunSettings run = default_run(TaskKind::Copy);
    run.model.d_model = 8;
    run.model.num_heads = 1;
    run.model.d_ff = 8;
    run.stop = {.steps = 30};
    session->apply({command::SetRun{run}, ""});
    session->apply({command::StartTraining{}, ""});
    session->wait_for_training();
    carry_out = true;
    view.stage = {Stage::Weights, 0};
    const Snapshot* seen = session->wait().get();
    for (std::int64_t step = 0; step < 30; ++step) {
        with_context([&](PanelContext& context) { compare_with_step(context, step); });
        with_context([&](PanelContext& context) {
            ASSERT_EQ(&context.snapshot, seen) << "nothing of what is shown has changed";
            const auto other = context.inquiry.ask(context.states.other_moment, facet::Trace{});
            ASSERT_EQ(other->trained_step, step);
            const Matrix difference = comparison_picture(context, compared_sides(context, view.stage, 0)).equation.result;
            const Tensor<float>&after = trace().find(view.stage)->value, &before = other->trace->find(view.stage)->value;
            for (std::int64_t t = 0; t < difference.data.rows; ++t)
                for (std::int64_t s = 0; s <= t; ++s)
                    ASSERT_EQ(difference.at(t, s), after(0, 0, t, s) - before(0, 0, t, s)) << "step " << step;
        });
    }
}

TEST_F(ComparisonTest, TheKeyChangesThePlacesAndTheSign) {
    open_example("causal-attention");
    view.stage = {Stage::Weights, 0};
    view.compare.choose(Compare::Unmasked);
    frames(2, ui_frame);
    const auto difference_now = [&] {
        std::vector<float> numbers;
        with_context([&](PanelContext& context) {
            const ComparisonPicture picture = comparison_picture(context, compared_sides(context, view.stage, view.head));
            EXPECT_EQ(picture.problem.words, "");
            const Matrix& result = picture.equation.result;
            for (std::int64_t r = 0; r < result.data.rows; ++r)
                for (std::int64_t c = 0; c < result.data.cols; ++c) numbers.push_back(result.at(r, c));
        });
        return numbers;
    };
    const std::vector<float> before = difference_now();
    view.compare.swapped = true;
    const std::vector<float> swapped = difference_now();
    ASSERT_EQ(before.size(), swapped.size());
    float largest = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ(before[i], -swapped[i]);
        largest = std::max(largest, std::abs(before[i]));
    }
    EXPECT_GT(largest, 0.01F);
    frames(1, ui_frame);
    EXPECT_FALSE(view.compare.swapped) << "the key is not held";
}

TEST_F(ComparisonTest, InPlaceShowsTheOtherStateWhereTheShownOneWas) {
    open_example("causal-attention");
    view.stage = {Stage::Weights, 0};
    view.compare.choose(Compare::Unmasked);
    view.compare.layout = CompareLayout::InPlace;
    for (const bool swapped : {false, true}) {
        canvas.calls.clear();
        frame(ui_frame);
        const float* own = trace().find(view.stage)->value.data();
        const auto unmasked = computed(session->states().unmasked);
        const float* other = unmasked->trace->find(view.stage)->value.data();
        const auto drawn = [&](const float* from) {
            return std::any_of(canvas.calls.begin(), canvas.calls.end(),
                               [&](const auto& call) { return call.request.data.values == from && call.max.x - call.min.x > 200; });
        };
        EXPECT_EQ(drawn(own), !swapped);
        EXPECT_EQ(drawn(other), swapped);
        hold('X', true);
    }
    hold('X', false);
}

/// While A stands in the place of B, the numbers to copy, the pane and the captions are A's in every view of maps.
TEST_F(ComparisonTest, EverythingAboutASaysSo) {
    open_example("gpt-tiny");
    view.stage = {Stage::Weights, 0};
    view.compare.choose(Compare::Unmasked);
    for (const View shown : {View::Step, View::Heads, View::Grid, View::Lines, View::Totals, View::Lens}) {
        view.view = shown;
        view.compare.lay_out(CompareLayout::InPlace, true);
        frames(3, ui_frame);
        with_context([&](PanelContext& context) {
            EXPECT_EQ(words_of_side(context), " of A") << view_info(shown).name;
            view.compare.swapped = false;
            EXPECT_EQ(words_of_side(context), " of B") << view_info(shown).name;
        });
    }
    // The lens has room for one table only, whatever the layout.
    view.compare.lay_out(CompareLayout::All);
    hold('X', true);
    frames(3, ui_frame);
    with_context([&](PanelContext& context) {
        ASSERT_EQ(context.view.view, View::Lens);
        EXPECT_EQ(words_of_side(context), " of A");
    });
    hold('X', false);
    view.compare.lay_out(CompareLayout::InPlace, true);
    view.view = View::Heads;
    view.head = 1;
    const auto unmasked = computed(session->states().unmasked);
    for (const bool a : {false, true}) {
        view.compare.lay_out(CompareLayout::InPlace, a);
        view.compare.swapped = a;
        const Trace<float>& side = a ? *unmasked->trace : trace();
        with_context([&](PanelContext& context) {
            const ShownNumbers shown = shown_numbers(context);
            EXPECT_EQ(shown.title, a ? "weights, layer 0, head 1 of A" : "weights, layer 0, head 1 of B");
            EXPECT_EQ(shown.matrix.at(0, 1), side.find(view.stage)->value(0, 1, 0, 1));
            const HeadScore* score = head_score(context, view.stage, 1);
            ASSERT_NE(score, nullptr);
            const std::vector<HeadScore> expected = head_scores(side);
            const auto own =
                std::find_if(expected.begin(), expected.end(), [&](const HeadScore& one) { return one.id == view.stage && one.head == 1; });
            ASSERT_NE(own, expected.end());
            EXPECT_EQ(score->entropy, own->entropy);
        });
    }
    // Lines are drawn of one state, whatever the layout.
    view.view = View::Lines;
    view.compare.lay_out(CompareLayout::All, false);
    view.compare.swapped = false;
    with_context([&](PanelContext& context) {
        const ShownNumbers shown = shown_numbers(context);
        EXPECT_EQ(shown.title, "weights, layer 0, head 1 of B");
        EXPECT_EQ(shown.matrix.at(3, 1), trace().find(view.stage)->value(0, 1, 3, 1));
    });
    EXPECT_NE(head_scores(trace())[1].entropy, head_scores(*unmasked->trace)[1].entropy) << "or the sides could not be told apart";
}

/// The file of a picture of totals holds the map that is shown.
TEST_F(ComparisonTest, TotalsToCopyAreThoseShown) {
    open_example("gpt-tiny");
    view.view = View::Totals;
    view.compare.choose(Compare::Unmasked);
    frames(3, ui_frame);
    const auto unmasked = computed(session->states().unmasked);
    const AttentionTotals a = attention_totals(*unmasked->trace, Stack::Main), b = attention_totals(trace(), Stack::Main);
    const auto numbers = [&](CompareLayout layout, bool first) {
        view.compare.lay_out(layout, first);
        view.compare.swapped = first;
        ShownNumbers shown;
        with_context([&](PanelContext& context) { shown = shown_numbers(context); });
        return shown;
    };
    const ShownNumbers shown_a = numbers(CompareLayout::InPlace, true), shown_b = numbers(CompareLayout::InPlace, false),
                       difference = numbers(CompareLayout::All, false);
    EXPECT_EQ(shown_a.title, "rollout of A");
    EXPECT_EQ(shown_b.title, "rollout of B");
    EXPECT_EQ(difference.title, "rollout, B − A");
    EXPECT_EQ(shown_a.matrix.at(2, 1), a.rollouts.back()(0, 2, 1));
    EXPECT_EQ(shown_b.matrix.at(2, 1), b.rollouts.back()(0, 2, 1));
    EXPECT_EQ(difference.matrix.at(2, 1), b.rollouts.back()(0, 2, 1) - a.rollouts.back()(0, 2, 1));
    EXPECT_NE(difference.matrix.at(2, 1), 0);
    EXPECT_EQ(view.stage.layer, 0) << "looking at all layers leaves the open one";
    // There, the arrow keys choose the last layer included.
    view.compare.end();
    press(Key::Up, ui_frame);
    EXPECT_EQ(view.totals.up_to, 2);
    EXPECT_EQ(view.stage.layer, 0);
}

/// "0.2409 − 0.2409 = −5.6e−5" would look wrong; and the cell under the mouse comes before the chosen one.
TEST_F(ComparisonTest, TheFormulaShowsTheDifferenceOfTheCellUnderTheMouse) {
    open_example("causal-attention");
    view.stage = {Stage::Q, 0};
    view.head = 0;
    const double before = static_cast<double>(trace().find(view.stage)->value(0, 0, 3, 1));
    ForwardSettings forward;
    forward.edits = {{.kind = EditKind::Set, .at = view.stage, .head = 0, .row = 3, .column = 1, .value = before + 4e-5}};
    session->apply({command::SetForward{forward}, ""});
    session->wait();
    view.compare.choose(Compare::Plain);
    view.locked.set(Axis::T, 0);
    view.locked.set(Axis::D, 0);
    const auto formula = [&] {
        std::string words;
        with_context(
            [&](PanelContext& context) { words = comparison_picture(context, compared_sides(context, view.stage, view.head)).formula; });
        return words;
    };
    EXPECT_TRUE(formula().ends_with(" = 0")) << formula();
    view.hover_shown.set(Axis::T, 3);
    view.hover_shown.set(Axis::D, 1);
    const std::string shown = formula();
    const auto number = [](double value) { return format_number(value, {.decimals = 6}); };
    EXPECT_NE(shown.find(number(static_cast<double>(static_cast<float>(before + 4e-5)))), std::string::npos) << shown;
    EXPECT_NE(shown.find(number(before)), std::string::npos) << shown;
    EXPECT_NE(number(before), number(before + 4e-5));
    view.compare.layout = CompareLayout::SideBySide;
    view.hover_shown.clear();
    view.locked.clear();
    EXPECT_EQ(formula(), "A and B");
}

TEST_F(ComparisonTest, ShapesThatDoNotFitAreNamedAndStandSideBySide) {
    open_example("causal-attention");
    view.stage = {Stage::Weights, 0};
    pin();
    set_text("the animal");
    view.compare.choose(Compare::Pinned);
    const auto picture = [&] {
        ComparisonPicture out;
        with_context([&](PanelContext& context) { out = comparison_picture(context, compared_sides(context, view.stage, view.head)); });
        return out;
    };
    for (const CompareLayout layout : {CompareLayout::SideBySide, CompareLayout::Difference, CompareLayout::All}) {
        view.compare.layout = layout;
        EXPECT_EQ(picture().remark,
                  layout == CompareLayout::SideBySide
                      ? ""
                      : "A is 10 × 10 (T × S) and B is 2 × 2 (T × S): their shapes differ, so they are shown side by side.");
        EXPECT_EQ(picture().problem.words, "");
        EXPECT_EQ(picture().equation.operands.at(0).data.rows, 10);
        EXPECT_EQ(picture().equation.result.data.rows, 2);
        EXPECT_TRUE(picture().equation.rows_differ);
        frames(2, ui_frame);
    }
    // The other state has no such layer.
    view.compare.layer = 7;
    EXPECT_EQ(picture().problem.words, "That state has no layers.7.attention.weights.");
    EXPECT_FALSE(picture().problem.waits);
    frames(2, ui_frame);
    view.compare.layer.reset();
    view.compare.head = 9;
    EXPECT_NE(picture().problem.words.find("no head 9"), std::string::npos) << picture().problem.words;
}

TEST_F(ComparisonTest, ThePaneGivesTheDifferenceInThePicture) {
    open_example("gpt-tiny");
    view.panes.only_centre = false;
    const auto pane_says = [&](const char* label) {
        const auto hover = [&](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        };
        const char* const pane = view.view == View::Step ? "##cell_blocks" : "##cell";
        return find_item(pane, {label, "row"}, hover, 200, 11).has_value();
    };
    view.compare.choose(Compare::Unmasked);
    for (const View place : {View::Step, View::Heads, View::Totals}) {
        view.view = place;
        view.stage = {Stage::Weights, 0};
        view.locked.set(Axis::T, 2);
        view.locked.set(Axis::S, 1);
        for (const CompareLayout layout : {CompareLayout::Difference, CompareLayout::InPlace}) {
            view.compare.layout = layout;
            frames(4, ui_frame);
            EXPECT_EQ(pane_says("B − A"), layout == CompareLayout::Difference);
        }
    }
}

TEST_F(ComparisonTest, AComparisonEndsWithWhatItCompares) {
    carry_out = true;
    open_example("causal-attention");
    const auto set_mistake = [&](Mistake mistake) {
        ForwardSettings forward = session->document().forward;
        forward.mistake = mistake;
        session->apply({command::SetForward{forward}, ""});
    };
    set_mistake(Mistake::InvertedMask);
    view.compare.choose(Compare::Correct);
    frames(2, ui_frame);
    EXPECT_TRUE(view.compare.on());
    set_mistake(Mistake::None);
    frames(2, ui_frame);
    EXPECT_FALSE(view.compare.on()) << "there is no mistake any more to compare with";
    // A state pinned in one example is unrelated to another; typed text still belongs to the same example.
    pin();
    view.compare.choose(Compare::Pinned);
    view.compare.head = 1;
    frames(2, ui_frame);
    set_text("the mat was warm");
    frames(2, ui_frame);
    EXPECT_TRUE(view.compare.on());
    session->apply({command::OpenPreset{"gpt-tiny"}, ""});
    frames(2, ui_frame);
    EXPECT_FALSE(view.compare.on());
    EXPECT_EQ(view.compare.head, std::nullopt);
    EXPECT_TRUE(session->document().pins.a) << "what is pinned is kept";
    view.compare.choose(Compare::Pinned);
    frames(2, ui_frame);
    EXPECT_TRUE(view.compare.on()) << "who asks for it again gets it";
    session->apply({command::Pin{false, nullptr}, ""});
    frames(2, ui_frame);
    EXPECT_FALSE(view.compare.on());
    // A training run ends the comparison.
    view.compare.choose(Compare::Unmasked);
    frames(2, ui_frame);
    RunSettings run = default_run(TaskKind::Copy);
    run.model.d_model = 8;
    run.model.num_heads = 1;
    run.model.d_ff = 8;
    run.stop = {.steps = 3};
    session->apply({command::SetRun{run}, ""});
    session->apply({command::StartTraining{}, ""});
    session->wait_for_training();
    frames(2, ui_frame);
    EXPECT_FALSE(view.compare.on());
}

TEST_F(ComparisonTest, AChipShowsAComparisonInEveryViewAndEndsIt) {
    carry_out = true;
    open_example("multi-head");
    const auto chip = [&] {
        move_mouse(2, 2);
        frames(2, ui_frame);
        return find_item(
            "##text", {"##end_comparison"},
            [&](float x, float y) {
                move_mouse(x, y);
                frame(ui_frame);
            },
            48, 14);
    };
    EXPECT_EQ(chip(), std::nullopt) << "nothing is compared";
    for (const ViewInfo& info : views()) {
        view.view = info.view;
        view.compare.choose(Compare::Unmasked);
        frames(2, ui_frame);
        const auto place = chip();
        ASSERT_TRUE(place) << info.name;
        click(place->x, place->y, ui_frame);
        EXPECT_FALSE(view.compare.on()) << info.name;
    }
}

TEST_F(ComparisonTest, TheHeadingNamesWhatIsDrawn) {
    open_example("gpt-tiny");
    view.compare.choose(Compare::Unmasked);
    const StageId weights{Stage::Weights, 0};
    with_context([&](PanelContext& context) { EXPECT_EQ(shown_title(context, weights), "Weights: B − A"); });
    // Plain weights are drawn if the other state has no such head.
    view.compare.head = 9;
    with_context([&](PanelContext& context) { EXPECT_EQ(shown_title(context, weights), "Weights"); });
}

TEST_F(ComparisonTest, BothSidesShareOneRange) {
    open_example("gpt-tiny");
    view.stage = {Stage::Scores, 1};
    view.compare.choose(Compare::Itself);
    view.compare.layer = 3;
    with_context([&](PanelContext& context) {
        const SharedRange one = shared_range(context, {Stage::Scores, 1}), other = shared_range(context, {Stage::Scores, 3});
        EXPECT_EQ(one.lo, other.lo);
        EXPECT_EQ(one.hi, other.hi);
        const StageRange first = stage_range(*trace().find({Stage::Scores, 1})), second = stage_range(*trace().find({Stage::Scores, 3}));
        EXPECT_EQ(one.lo, std::min(first.lo, second.lo));
        EXPECT_EQ(one.hi, std::max(first.hi, second.hi));
    });
}

/// Once, however it is computed: a second mark would forget that it is a difference of weights, which have colours of their own.
TEST_F(ComparisonTest, ADifferenceIsMarkedOnce) {
    open_example("gpt-tiny");
    const StageId weights{Stage::Weights, 0};
    view.view = View::Heads;
    view.heads.stage = Stage::Weights;
    view.stage = weights;
    Matrix plain;
    with_context([&](PanelContext& context) { plain = shown_slice(context, weights, 0); });
    view.compare.choose(Compare::Unmasked);
    with_context([&](PanelContext& context) {
        const Matrix difference = shown_slice(context, weights, 0);
        ASSERT_FALSE(difference.empty());
        EXPECT_TRUE(difference.is_difference);
        EXPECT_TRUE(difference.is_of_weights);
        EXPECT_EQ(difference.symbol, "Δ " + plain.symbol);
        EXPECT_EQ(difference.name, plain.name + " difference");
        EXPECT_NE(difference.labelled_by.before, nullptr);
    });
}

TEST_F(ComparisonTest, HeadsAndGridShowDifferencesOnOneScale) {
    open_example("gpt-tiny");
    view.heads.stage = Stage::Weights;
    view.stage = {Stage::Weights, 0};
    view.compare.choose(Compare::Unmasked);
    float of_layer = 0;
    for (const View shown : {View::Heads, View::Grid}) {
        view.view = shown;
        float reach = 0;
        with_context([&](PanelContext& context) { reach = shown_reach(context, {Stage::Weights}); });
        ASSERT_GT(reach, of_layer) << "Grid shows all layers, and another one has larger differences";
        of_layer = reach;
        canvas.calls.clear();
        frames(1, ui_frame);
        const auto maps = std::count_if(canvas.calls.begin(), canvas.calls.end(), [&](const auto& call) {
            return call.request.style.map == ColorMap::Diverging && call.request.style.hi == reach && call.request.style.lo == -reach;
        });
        EXPECT_GE(maps, 4) << static_cast<int>(shown);
    }
    view.compare.choose(Compare::Off);
    with_context([&](PanelContext& context) { EXPECT_EQ(shown_reach(context, {Stage::Weights}), 0); });
}

}  // namespace
}  // namespace attn::app::test
