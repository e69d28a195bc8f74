/// What the views show in place of a map's numbers: without the first key, times what they move, or gradients.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/map_tensors.hpp"
#include "engine/trace/gradient_trace.hpp"
#include "tests/support/interface_fixture.hpp"

namespace attn::app::test {
namespace {

class ShownMaps : public InterfaceFixture {
protected:
    ShownMaps() { carry_out = false; }
};

TEST_F(ShownMaps, TheFirstKeyIsLeftOutOfThePictureAlone) {
    open_example("causal-attention");
    const Matrix weights = map_of({Stage::Weights, 0}, 0, 0);
    const auto without_first_key = [this](std::int64_t head) {
        return ask([head](const NumberDesk& numbers, const Subject& shown) {
            return numbers.numbers({.of = shown, .stage = {Stage::Weights, 0}, .head = head, .without_first_key = true}).map;
        });
    };
    const Matrix rest = without_first_key(0);
    ASSERT_EQ(rest.data.rows, weights.data.rows);
    EXPECT_NE(rest.data.key, weights.data.key);
    for (std::int64_t t = 0; t < rest.data.rows; ++t) {
        double sum = 0;
        EXPECT_TRUE(rest.masked(t, 0));
        EXPECT_EQ(rest.at(t, 0), 0);
        for (std::int64_t s = 1; s < rest.data.cols; ++s) {
            EXPECT_EQ(rest.masked(t, s), weights.masked(t, s));
            EXPECT_NEAR(rest.at(t, s), t == 0 ? 0 : weights.at(t, s) / (1 - weights.at(t, 0)), 1e-5F);
            sum += static_cast<double>(rest.at(t, s));
        }
        EXPECT_NEAR(sum, t == 0 ? 0 : 1, 1e-5) << "the first query sees nothing else";
    }
    for (const View shown : {View::Heads, View::Grid}) {
        view.view = shown;
        view.heads.without_first_key = false;
        frames(2, ui_frame);
        const auto keys = [&] {
            std::set<std::uint64_t> all;
            for (const auto& call : canvas.calls) all.insert(call.request.data.key);
            return all;
        };
        const std::uint64_t whole = map_of({Stage::Weights, 0}, 0, 1).data.key;
        EXPECT_TRUE(keys().contains(whole));
        view.heads.without_first_key = true;
        frames(2, ui_frame);
        EXPECT_TRUE(keys().contains(without_first_key(1).data.key));
        with_context([](PanelContext& context) {
            EXPECT_EQ(shown_title(context, {Stage::Weights, 0}), "Weights without the first key");
            EXPECT_EQ(shown_title(context, {Stage::Scores, 0}), "Scores");
        });
    }
    EXPECT_EQ(session->document().forward.edits.size(), 0U);
}

TEST_F(ShownMaps, WeightsAreShownTimesWhatTheyMove) {
    open_example("causal-attention");
    const Matrix weights = map_of({Stage::Weights, 0}, 0, 1);
    const auto norms = get(facet::ValueNorms{{Stage::Weights, 0}});
    const Matrix moved = ask([](const NumberDesk& numbers, const Subject& shown) {
        return numbers.numbers({.of = shown, .stage = {Stage::Weights, 0}, .head = 1, .norm_weighted = true}).map;
    });
    EXPECT_TRUE(moved.is_norm_weighted);
    const std::int64_t rows = moved.data.rows, cols = moved.data.cols;
    std::vector<float> numbers;
    float largest = 0;
    for (std::int64_t t = 0; t < moved.data.rows; ++t)
        for (std::int64_t s = 0; s < moved.data.cols; ++s) {
            EXPECT_EQ(moved.at(t, s), weights.at(t, s) * (*norms)(0, 1, s));
            numbers.push_back(moved.at(t, s));
            largest = std::max(largest, numbers.back());
        }
    for (const View shown : {View::Heads, View::Grid}) {
        view.view = shown;
        view.heads.norm_weighted = true;
        canvas.calls.clear();
        frames(3, ui_frame);
        const auto call = std::find_if(canvas.calls.begin(), canvas.calls.end(), [&](const auto& one) {
            return one.request.data.rows == rows && one.request.data.cols == cols &&
                   std::equal(numbers.begin(), numbers.end(), one.request.data.values);
        });
        ASSERT_NE(call, canvas.calls.end());
        EXPECT_EQ(call->request.style.map, ColorMap::Sequential);
        EXPECT_EQ(call->request.style.lo, 0);
        EXPECT_GE(call->request.style.hi, largest) << "nothing is cut off at the end of the scale";
        with_context([](PanelContext& context) { EXPECT_EQ(shown_title(context, {Stage::Weights, 0}), "Weights × ‖v W_O‖"); });
    }
}

TEST_F(ShownMaps, GradientsTakeThePlaceOfValues) {
    open_example("causal-attention");
    const auto computed_gradients = get(facet::Gradients{});
    const GradientTrace<float>& gradients = *computed_gradients;
    const auto gradient_of = [this](const Matrix& matrix) {
        return ask([&matrix](const NumberDesk& numbers, const Subject&) { return numbers.gradient(matrix); });
    };
    for (const StageId& id : {StageId{Stage::Scores, 0}, StageId{Stage::Q, 0}, StageId{Stage::Residual1, 0}}) {
        const Matrix value = map_of(id, 0, 1);
        const Matrix gradient = gradient_of(value);
        ASSERT_FALSE(gradient.empty());
        const Matrix turned = gradient_of(transposed(value, "t"));
        const auto& expected = gradients.find(id)->value;
        for (std::int64_t r = 0; r < value.data.rows; ++r)
            for (std::int64_t c = 0; c < value.data.cols; ++c) {
                const float number = expected.shape().rank() == 4 ? expected(0, 1, r, c) : expected(0, r, c);
                EXPECT_EQ(gradient.at(r, c), number);
                EXPECT_EQ(turned.at(c, r), number);
            }
    }
    const Matrix head = ask([](const NumberDesk& numbers, const Subject& shown) {
        return numbers.parameter(shown, {"layers.0.attention.qkv.weight", Axis::C, Axis::D, 8, 8, 2, 5});
    });
    const Matrix gradient = gradient_of(head);
    const float* all = gradients.parameters->find("layers.0.attention.qkv.weight");
    ASSERT_EQ(gradient.data.rows, 5);
    EXPECT_EQ(gradient.at(1, 3), all[3 * 48 + 8 + 3]);
    const Matrix tokens =
        ask([](const NumberDesk& numbers, const Subject& shown) { return numbers.one_hot(shown, {Stage::TokenEmbedding}, 0); });
    ASSERT_FALSE(tokens.empty());
    EXPECT_TRUE(gradient_of(tokens).empty());
    const auto values_drawn = largest_map();
    type("d", ui_frame);
    frames(2, ui_frame);
    EXPECT_TRUE(view.gradients);
    EXPECT_NE(largest_map().request.data.values, values_drawn.request.data.values);
}

/// Every head's gradients, on a common scale symmetric about 0 for the whole stage; values again when switched back.
TEST_F(ShownMaps, HeadsAndGridShowGradientsToo) {
    open_example("multi-head");
    if (!trace().config.lm_head) open_example("causal-attention");
    const auto gradients = get(facet::Gradients{});
    const RecordedStage<float>* recorded = gradients->find({Stage::Weights, 0});
    ASSERT_NE(recorded, nullptr);
    const Shape& shape = recorded->value.shape();
    float largest = 0;
    for (const float x : recorded->value.values()) largest = std::max(largest, std::abs(x));
    ASSERT_GT(largest, 0);
    view.stage = {Stage::Weights, 0};
    view.heads.stage = Stage::Weights;
    for (const View shown : {View::Heads, View::Grid}) {
        view.view = shown;
        for (const bool gradients_on : {true, false}) {
            view.gradients = gradients_on;
            frames(2, ui_frame);
            std::int64_t drawn = 0;
            for (const auto& call : canvas.calls) {
                const std::int64_t at = call.request.data.values - recorded->value.data();
                if (at < 0 || at >= recorded->value.size()) continue;
                ++drawn;
                EXPECT_EQ(at % (shape[2].size * shape[3].size), 0);
                EXPECT_EQ(call.request.style.map, ColorMap::Diverging);
                EXPECT_EQ(std::max(std::abs(call.request.style.lo), std::abs(call.request.style.hi)), largest);
            }
            EXPECT_EQ(drawn > 0, gradients_on) << "view " << static_cast<int>(shown);
            EXPECT_TRUE(!gradients_on || drawn >= shape[1].size);
        }
        const bool before = view.gradients;
        type("d", ui_frame);
        EXPECT_NE(view.gradients, before);
    }
}

TEST_F(ShownMaps, ViewsWithoutTheSwitchShowNoGradients) {
    open_example("stories");
    view.gradients = true;
    for (const ViewInfo& info : views()) {
        view.view = info.view;
        frames(2, ui_frame);
        const bool has_switch = info.view == View::Step || info.view == View::Heads || info.view == View::Grid;
        with_context([&](PanelContext& context) { EXPECT_EQ(shows_gradients(context), has_switch) << info.name; });
        if (info.view == View::Lines || info.view == View::KnockOut || info.view == View::Lens) {
            type("d", ui_frame);
            EXPECT_TRUE(view.gradients) << "the key does what nobody sees in " << info.name;
        }
    }
}

}  // namespace
}  // namespace attn::app::test
