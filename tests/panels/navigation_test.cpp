#include "app/panels/navigation.hpp"

#include <gtest/gtest.h>

namespace attn::app {
namespace {

/// Two layers with q, scores and residual_1, between tokens and logits; one sequence of 3 tokens, 2 heads.
Trace<float> small_trace() {
    Trace<float> trace;
    trace.config.num_heads = 2;
    trace.config.num_layers = 2;
    trace.tokens = {3, {1, 2, 3}, {3}};
    const auto add = [&](Stage stage, int layer, Shape shape) { trace.stages.push_back({{stage, layer}, Tensor<float>(shape), nullptr}); };
    add(Stage::Tokens, -1, {{Axis::B, 1}, {Axis::T, 3}});
    for (int layer = 0; layer < 2; ++layer) {
        add(Stage::Q, layer, {{Axis::B, 1}, {Axis::H, 2}, {Axis::T, 3}, {Axis::D, 4}});
        add(Stage::Scores, layer, {{Axis::B, 1}, {Axis::H, 2}, {Axis::T, 3}, {Axis::S, 3}});
        add(Stage::Residual1, layer, {{Axis::B, 1}, {Axis::T, 3}, {Axis::C, 8}});
    }
    add(Stage::Logits, -1, {{Axis::B, 1}, {Axis::T, 3}, {Axis::V, 5}});
    return trace;
}

TEST(Navigation, WalksEveryStageAndStopsAtTheEnds) {
    const Trace<float> trace = small_trace();
    ViewState view;
    go_to_first_stage(view, trace);
    EXPECT_FALSE(step_stage(view, trace, -1));
    std::size_t steps = 0;
    while (step_stage(view, trace, +1)) ++steps;
    EXPECT_EQ(steps, trace.stages.size() - 1);
    EXPECT_EQ(view.stage.stage, Stage::Logits);
}

TEST(Navigation, KeepsTheClosestStageWhenTheModelChanges) {
    const Trace<float> trace = small_trace();
    ViewState view;
    view.stage = {Stage::Scaled, 7};
    view.head = 9;
    view.batch = 4;
    keep_view_valid(view, trace);
    EXPECT_EQ(view.stage, (StageId{Stage::Scores, 1}));
    EXPECT_EQ(view.head, 1);
    EXPECT_EQ(view.batch, 0);
}

TEST(Navigation, ChangesTheLayerButNotTheStage) {
    const Trace<float> trace = small_trace();
    ViewState view;
    view.stage = {Stage::Q, 0};
    go_to_layer(view, trace, 1);
    EXPECT_EQ(view.stage, (StageId{Stage::Q, 1}));
}

TEST(Navigation, AChosenCellIsReadInEveryStage) {
    const Trace<float> trace = small_trace();
    ViewState view;
    view.stage = {Stage::Scores, 0};
    view.head = 1;
    EXPECT_FALSE(selected_cell(view, trace, view.locked));
    view.locked.set(Axis::T, 2);
    view.locked.set(Axis::S, 1);
    const std::array<std::int64_t, 4> at_scores{0, 1, 2, 1}, at_residual{0, 2, 0, 0};
    EXPECT_EQ(selected_cell(view, trace, view.locked)->index, at_scores);
    view.stage = {Stage::Residual1, 0};
    EXPECT_EQ(selected_cell(view, trace, view.locked)->index, at_residual);
}

TEST(Navigation, ACellBeyondTheTextIsNoCell) {
    const Trace<float> trace = small_trace();
    ViewState view;
    view.stage = {Stage::Scores, 0};
    view.locked.set(Axis::T, 3);
    EXPECT_FALSE(selected_cell(view, trace, view.locked));
}

TEST(Navigation, GoingToACellChoosesItsAxes) {
    const Trace<float> trace = small_trace();
    ViewState view;
    CellRef cell;
    cell.stage = {Stage::Q, 1};
    cell.index = {0, 1, 2, 3};
    go_to_cell(view, trace, cell);
    EXPECT_EQ(view.stage, cell.stage);
    EXPECT_EQ(view.head, 1);
    EXPECT_EQ(view.locked.on(Axis::T), 2);
    EXPECT_EQ(view.locked.on(Axis::D), 3);
    EXPECT_EQ(selected_cell(view, trace, view.locked)->index, cell.index);
}

// Four heads over two key/value heads: heads 2 and 3 read the second.
TEST(Navigation, AHeadOfTheQueriesFindsTheKeysThatItReads) {
    Trace<float> trace;
    trace.config.num_heads = 4;
    trace.config.num_kv_heads = 2;
    trace.tokens = {3, {1, 2, 3}, {3}};
    const StageId keys{Stage::K, 0}, scores{Stage::Scores, 0};
    trace.stages.push_back({keys, Tensor<float>({{Axis::B, 1}, {Axis::G, 2}, {Axis::S, 3}, {Axis::D, 4}})});
    trace.stages.push_back({scores, Tensor<float>({{Axis::B, 1}, {Axis::H, 4}, {Axis::T, 3}, {Axis::S, 3}})});
    ViewState view;
    view.stage = keys;
    view.head = 3;
    view.locked.set(Axis::S, 2);
    const std::optional<CellRef> key = selected_cell(view, trace, view.locked);
    ASSERT_TRUE(key.has_value());
    EXPECT_EQ(key->index, (std::array<std::int64_t, 4>{0, 1, 2, 0}));
    go_to_cell(view, trace, *key);
    EXPECT_EQ(view.head, 3);  // it reads that key head already
    go_to_cell(view, trace, {keys, "", {0, 0, 1, 0}});
    EXPECT_EQ(view.head, 0);  // the first that does
    keep_view_valid(view, trace);
    EXPECT_EQ(view.head, 0);
}

}  // namespace
}  // namespace attn::app
