/// Maps of texts so long that a frame must not go through them, though they are held in full: sums of rows, means, totals and their
/// differences come from workers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "app/panels/compare/colors.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/views/totals_view.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/statistics.hpp"
#include "app/session/values/totals_slice.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app::test {
namespace {

constexpr std::int64_t kPositions = 520;
const StageId kWeights{Stage::Weights, 1}, kDropped{Stage::Dropped, 1};

class LongMap : public InterfaceFixture {
protected:
    void SetUp() override {
        Document document = open_preset("gpt-tiny");
        document.preset.clear();
        document.tokenizer = TokenizerKind::Word;
        document.special_tokens = false;
        document.vocabulary_texts = {"a b c d e f g"};
        document.texts = {text_of(3)};
        document.config.context_length = kPositions;
        document.forward.dropout.attention = 0.3;
        session = std::make_unique<Session>(std::move(document), [] {});
        session->wait();
        ASSERT_EQ(session->snapshot()->problem, "");
        ASSERT_TRUE(trace().whole());
    }
    static std::string text_of(std::int64_t step) {
        std::string text;
        for (std::int64_t i = 0; i < kPositions; ++i) text += std::string(1, static_cast<char>('a' + i * i * step % 7)) + " ";
        return text;
    }
    /// Pins the shown state as A, and shows another text.
    void compare_two_texts() {
        pin();
        session->apply({command::SetTexts{{text_of(5)}, {}}, ""});
        session->wait();
        view.compare.choose(Compare::Pinned);
        view.compare.layout = CompareLayout::Difference;
    }
    /// Shows all heads of a layer whose weights are all small.
    void show_small_weights() {
        ForwardSettings settings = session->document().forward;
        settings.masks.causal = false;
        settings.temperature = 100;
        session->apply({command::SetForward{settings}, ""});
        session->wait();
        view.view = View::Heads;
        view.stage = kWeights;
    }
    float largest_weight_of(const StageId& id) {
        const Tensor<float>& values = trace().find(id)->value;
        return *std::max_element(values.data(), values.data() + values.size());
    }
    template <class F>
    bool is_known(const F& facet) {
        return static_cast<bool>(session->results().find(session->states().shown, facet));
    }
    std::size_t last_layer() const { return static_cast<std::size_t>(trace().config.num_layers) - 1; }
    const AttentionTotals& totals(const StateRef& state) {
        const auto readings = session->compute(state, facet::Totals{});
        return *readings->of(Stack::Main);
    }
};

TEST_F(LongMap, RowSumsComeFromAWorker) {
    view.stage = kDropped;
    view.head = 2;
    with_context([&](PanelContext& context) {
        const Matrix map = slice_of(context, shown_side(context, kDropped, 2)), sums = context.numbers().row_sums(map);
        ASSERT_FALSE(is_small(map));
        ASSERT_EQ(sums.data.rows, kPositions);
        ASSERT_EQ(sums.data.cols, 1);
        const Tensor<float>& values = trace().find(kDropped)->value;
        double away = 0;
        for (std::int64_t t = 0; t < kPositions; ++t) {
            double sum = 0;
            for (std::int64_t s = 0; s <= t; ++s) sum += static_cast<double>(values(0, 2, t, s));
            EXPECT_EQ(sums.at(t, 0), static_cast<float>(sum)) << t;
            away = std::max(away, std::abs(sum - 1));
        }
        EXPECT_GT(away, 0.1) << "dropout changes the sums";
    });
    EXPECT_TRUE(is_known(facet::ChangedSlice{.stage = kDropped, .head = 2, .row_sums = true}));
    view.view = View::Step;
    view.head = 1;
    frames(2, ui_frame);
    EXPECT_TRUE(is_known(facet::ChangedSlice{.stage = kDropped, .head = 1, .row_sums = true})) << "shown beside the map";
    instant = false;
    view.head = 3;
    with_context([&](PanelContext& context) {
        EXPECT_TRUE(context.numbers().row_sums(slice_of(context, shown_side(context, kDropped, 3))).empty())
            << "nothing is summed in the frame";
    });
}

TEST_F(LongMap, RowsThatMustSumToOneAreNotSummed) {
    view.view = View::Step;
    view.stage = kWeights;
    frames(3, ui_frame);
    EXPECT_FALSE(is_known(facet::ChangedSlice{.stage = kWeights, .head = view.head, .row_sums = true})) << "dropout comes after them";
    ForwardSettings settings = session->document().forward;
    settings.dropout = {};
    session->apply({command::SetForward{settings}, ""});
    session->wait();
    view.stage = kDropped;
    frames(3, ui_frame);
    EXPECT_FALSE(is_known(facet::ChangedSlice{.stage = kDropped, .head = view.head, .row_sums = true})) << "nothing is dropped";
}

TEST_F(LongMap, TheRangeEndsAtTheLargestNumberIfThatIsSmall) {
    show_small_weights();
    const StageId first{Stage::Weights, 0};
    const float largest = largest_weight_of(kWeights), in_first = largest_weight_of(first);
    ASSERT_LT(in_first, largest) << "the ranges could not be told apart";
    with_context([&](PanelContext& context) {
        const Matrix map = slice_of(context, shown_side(context, first, 0));
        ASSERT_LT(largest, most_of_weights(keys_of(map)));
        EXPECT_EQ(style_of(context, map, kWeights).hi, largest);
        EXPECT_EQ(style_of(context, map, first).hi, in_first);
        view.view = View::Grid;
        for (const StageId& id : {first, kWeights}) EXPECT_EQ(style_of(context, map, id).hi, largest) << "the same for all layers";
        view.view = View::Train;
        EXPECT_EQ(style_of(context, map, first).hi, most_of_weights(keys_of(map))) << "it must not move during training";
    });
}

TEST_F(LongMap, TheMeanOfTheHeadsHasTheirRange) {
    show_small_weights();
    frames(3, ui_frame);
    canvas.calls.clear();
    frame(ui_frame);
    const float largest = largest_weight_of(kWeights);
    std::int64_t maps = 0;
    for (const auto& call : canvas.calls) {
        if (call.max.y - call.min.y < 80) continue;  // a picture of a stage below
        EXPECT_EQ(call.request.style.hi, largest);
        ++maps;
    }
    EXPECT_EQ(maps, trace().config.num_heads + 1);
}

TEST_F(LongMap, MeansAreCountedByAWorker) {
    view.stage = kWeights;
    with_context([&](PanelContext& context) {
        const Matrix mean = slice_of(context, shown_side(context, kWeights, kMeanHead));
        const TensorStatistics* found = context.numbers().count(mean);
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->count, kPositions * (kPositions + 1) / 2);
        EXPECT_EQ(found->masked, kPositions * (kPositions - 1) / 2);
        double sum = 0;
        float most = 0;
        for (std::int64_t t = 0; t < kPositions; ++t)
            for (std::int64_t s = 0; s <= t; ++s) {
                sum += static_cast<double>(mean.at(t, s));
                most = std::max(most, mean.at(t, s));
            }
        EXPECT_NEAR(found->mean, sum / static_cast<double>(found->count), 1e-12);
        EXPECT_EQ(found->max, most);
    });
    EXPECT_TRUE(is_known(facet::Statistics{.stage = kWeights, .head = kMeanHead, .sequence = 0}));
}

TEST_F(LongMap, TotalsComeFromAWorker) {
    view.view = View::Totals;
    view.stage = kWeights;
    for (const bool rollout : {true, false}) {
        view.totals.rollout = rollout;
        with_context([&](PanelContext& context) {
            const Matrix map = totals_numbers(context).matrix;
            ASSERT_EQ(map.data.rows, kPositions);
            const AttentionTotals& all = totals(context.states.shown);
            const std::vector<float> mean = mean_of_layers(all, all.layers() - 1, 0);
            const TokenMap& rolled = all.rollouts.back();
            for (std::int64_t t = 0; t < kPositions; ++t)
                for (std::int64_t s = 0; s < kPositions; ++s) {
                    ASSERT_EQ(map.at(t, s), rollout ? rolled(0, t, s) : mean[static_cast<std::size_t>(t * kPositions + s)]);
                    ASSERT_EQ(map.masked(t, s), s > t) << t << ' ' << s;
                }
        });
        EXPECT_TRUE(is_known(facet::TotalsSlice{.rollout = rollout, .at = {.layer = last_layer()}}));
    }
    view.totals.up_to = 0;
    instant = false;
    with_context([&](PanelContext& context) { EXPECT_TRUE(totals_numbers(context).empty()) << "nothing is copied in the frame"; });
    frames(2, ui_frame);
    EXPECT_FALSE(session->compute(facet::TotalsSlice{.at = {.layer = 9}}));
    EXPECT_FALSE(session->compute(facet::TotalsSlice{.at = {.sequence = 1}}));
}

TEST_F(LongMap, DifferencesOfTotalsComeFromAWorker) {
    compare_two_texts();
    view.view = View::Totals;
    view.stage = kWeights;
    for (const bool swapped : {false, true}) {
        view.compare.swapped = swapped;
        with_context([&](PanelContext& context) {
            const Matrix map = totals_numbers(context).matrix;
            ASSERT_TRUE(map.is_difference);
            EXPECT_EQ(map.name, "rollout difference");
            EXPECT_EQ(map.labelled_by.snapshot == computed(context.states.pinned_a).get(), swapped) << "rows are named after its text";
            const TokenMap &after = totals(context.states.shown).rollouts.back(), &before = totals(context.states.pinned_a).rollouts.back();
            float reach = 0;
            for (std::int64_t t = 0; t < kPositions; ++t)
                for (std::int64_t s = 0; s <= t; ++s) {
                    const float difference = after(0, t, s) - before(0, t, s);
                    ASSERT_EQ(map.at(t, s), swapped ? -difference : difference);
                    reach = std::max(reach, std::abs(difference));
                }
            EXPECT_GT(reach, 0);
            const TensorStatistics& found = context.numbers().statistics(map);
            EXPECT_EQ(std::max(found.max, -found.min), reach);
        });
    }
    view.compare.swapped = false;
    EXPECT_TRUE(is_known(facet::TotalsSlice{
        .rollout = true, .at = {.layer = last_layer()}, .minus = session->states().pinned_a, .minus_at = {.layer = last_layer()}}));
    // Nothing else is asked for, and nothing is known.
    session->want({});
    session->apply({command::SetMemoryBudget{1000}, ""});
    EXPECT_TRUE(session->compute(facet::TotalsSlice{.at = {.layer = 1}, .minus = session->states().pinned_a, .minus_at = {.layer = 0}}));
    session->apply({command::SetTexts{{"a b c"}, {}}, ""});
    session->wait();
    with_context([&](PanelContext& context) { EXPECT_FALSE(totals_numbers(context).matrix.is_difference) << "the lengths differ"; });
}

TEST_F(LongMap, DifferencesOfMomentsOfARunComeFromAWorker) {
    RunSettings run = small_run(2);
    run.task.length = 260;
    run.batch_size = 1;
    train(*session, run);
    session->wait();
    session->apply({command::ShowMoment{0}, ""});
    session->wait();
    pin();
    session->apply({command::ShowMoment{2}, ""});
    session->wait();
    ASSERT_EQ(session->snapshot()->problem, "");
    view.view = View::Train;
    view.train.difference = true;
    frames(3, ui_frame);
    const StageId weights{Stage::Weights, 0};
    const Tensor<float>&after = trace().find(weights)->value, &before = computed(session->states().pinned_a)->trace->find(weights)->value;
    const std::int64_t positions = after.shape()[2].size;
    ASSERT_GT(positions * positions, 1 << 18);
    const StateRef minus = session->states().pinned_a;
    EXPECT_TRUE(
        is_known(facet::ChangedSlice{.stage = weights, .head = 1, .change = {.minus = minus, .minus_stage = weights, .minus_head = 1}}));
    const auto map = std::find_if(canvas.calls.begin(), canvas.calls.end(),
                                  [](const auto& call) { return call.request.style.map == ColorMap::Diverging; });
    ASSERT_NE(map, canvas.calls.end());
    float reach = 0;
    for (std::int64_t t = 0; t < positions; ++t)
        for (std::int64_t s = 0; s <= t; ++s) {
            const float difference = after(0, 0, t, s) - before(0, 0, t, s);
            ASSERT_EQ(map->request.data.at(t, s), difference);
            reach = std::max(reach, std::abs(difference));
        }
    EXPECT_GT(reach, 0);
}

}  // namespace
}  // namespace attn::app::test
