/// The Precision view: table, error map, numbers, and the comparison of both states.

#include "app/panels/views/precision_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/views/precision_table.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/session.hpp"
#include "app/session/values/weights_beside.hpp"
#include "tests/support/coarser_model.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Precision : public InterfaceFixture {
protected:
    const attn::test::TemporaryFolder folder;
    const fs::path coarser = attn::test::coarser_model(folder.path()), other_sizes = fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2_hub";

    void open() {
        session = std::make_unique<Session>(document_of_model(OpenedModel::open(attn::test::fine_model())), [] {});
        session->wait();
        view.view = View::Precision;
        frames(3, ui_frame);
    }
    void put_beside(const fs::path& other) {
        put_model_beside(view, other.string());
        frames(3, ui_frame);
    }
    Answer<facet::WeightsBeside> weights(const std::shared_ptr<const OpenedModel>& model) {
        const facet::WeightsBeside facet{model, view.precision.other, view.precision.opening};
        return session->wait_for({nullptr, facet}).find(nullptr, facet);
    }
    std::optional<ImVec2> find(const char* window, std::initializer_list<const char*> path) {
        move_mouse(1, 1);
        frames(2, ui_frame);
        return find_item(window, path, [&](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        });
    }
    bool press_item(const char* window, std::initializer_list<const char*> path) {
        const auto at = find(window, path);
        if (at) click(at->x, at->y, ui_frame);
        return at.has_value();
    }
    /// Whether these numbers have been drawn since `canvas.calls` was cleared.
    bool drawn(const std::vector<float>& numbers) {
        return std::any_of(canvas.calls.begin(), canvas.calls.end(),
                           [&](const auto& call) { return call.request.data.values == numbers.data() && call.max.x - call.min.x > 100; });
    }
};

TEST_F(Precision, SaysHowToBeginWhereThereIsNothingToCompare) {
    open_example("gpt-tiny");
    view.view = View::Precision;
    frames(2, ui_frame);
    EXPECT_TRUE(press_item("##centre", {"Open a model…"}));
    EXPECT_EQ(view.files.task, FileTask::Open);
    view.files.task = FileTask::None;
    open();
    EXPECT_TRUE(press_item("##centre", {"Choose the other file…"}));
    EXPECT_EQ(view.files.task, FileTask::Beside);
}

TEST_F(Precision, DrawsTheErrorsOfTheWorstTensorAndItsNumbers) {
    open();
    put_beside(coarser);
    const auto model = session->document().model;
    const auto answer = weights(model);
    ASSERT_TRUE(answer) << answer.problem;
    std::string worst;
    double relative = -1;
    for (const WeightError& error : answer->errors.parameters)
        if (error.relative > relative) relative = error.relative, worst = error.parameter;
    with_context([&](PanelContext& context) { EXPECT_EQ(chosen_weight(context, answer->errors)->parameter, worst); });
    const facet::WeightErrors errors{model, answer->other, worst};
    const auto map = session->wait_for({nullptr, errors}).find(nullptr, errors);
    ASSERT_TRUE(map) << map.problem;
    canvas.calls.clear();
    frame(ui_frame);
    EXPECT_TRUE(drawn(map->rms));
    ASSERT_TRUE(view.precision.cell) << "some number is looked at";
    // A click elsewhere in the map selects a number there and shows its neighbours.
    const auto at = find("##centre", {"##errors"});
    ASSERT_TRUE(at);
    view.precision.cell.reset();
    click(at->x, at->y, ui_frame);
    ASSERT_TRUE(view.precision.cell);
    const auto [row, column] = *view.precision.cell;
    const facet::WeightNumbers around{model, answer->other, worst, row / kShownWeightRows * kShownWeightRows,
                                      column / kShownWeightColumns * kShownWeightColumns};
    const auto numbers = session->wait_for({nullptr, around}).find(nullptr, around);
    ASSERT_TRUE(numbers) << numbers.problem;
    canvas.calls.clear();
    frame(ui_frame);
    EXPECT_TRUE(drawn(numbers->difference));
}

TEST_F(Precision, TheTableIsSortedAndFiltered) {
    open();
    put_beside(coarser);
    EXPECT_EQ(view.precision.sort, ErrorColumn::Relative);
    EXPECT_TRUE(press_item("##centre", {"##rms"}));
    EXPECT_EQ(view.precision.sort, ErrorColumn::Rms);
    EXPECT_FALSE(view.precision.upwards) << "the worst first";
    EXPECT_TRUE(press_item("##centre", {"##rms"}));
    EXPECT_TRUE(view.precision.upwards);
    EXPECT_TRUE(press_item("##centre", {"##name"}));
    EXPECT_TRUE(view.precision.upwards) << "names from the first";
    // A merged line leads to its parameters.
    view.precision.kinds = true;
    frames(2, ui_frame);
    const ImGuiWindow* table = find_window("##weights");
    ASSERT_NE(table, nullptr);
    click(table->Pos.x + 40, table->Pos.y + 12, ui_frame);
    EXPECT_FALSE(view.precision.kinds);
    EXPECT_FALSE(view.precision.filter.empty());
    frames(2, ui_frame);
    click(table->Pos.x + 40, table->Pos.y + 12, ui_frame);
    EXPECT_NE(view.precision.parameter, "") << "a tensor of that kind is chosen";
    view.precision.filter = "no such tensor";
    frames(2, ui_frame);
}

TEST_F(Precision, TheUpAndDownKeysMoveInTheTable) {
    open();
    put_beside(coarser);
    const auto answer = weights(session->document().model);
    ASSERT_TRUE(answer) << answer.problem;
    std::vector<WeightError> sorted = answer->errors.parameters;
    std::stable_sort(sorted.begin(), sorted.end(), [](const WeightError& a, const WeightError& b) { return a.rms < b.rms; });
    view.precision.sort = ErrorColumn::Rms;
    view.precision.upwards = true;
    view.precision.parameter = sorted[0].parameter;
    const StageId stage = view.stage;
    press(Key::Up, ui_frame);
    EXPECT_EQ(view.precision.parameter, sorted[0].parameter) << "nothing is above the first line";
    press(Key::Down, ui_frame);
    press(Key::Down, ui_frame);
    EXPECT_EQ(view.precision.parameter, sorted[2].parameter);
    press(Key::Up, ui_frame);
    EXPECT_EQ(view.precision.parameter, sorted[1].parameter);
    EXPECT_EQ(view.stage, stage) << "the Step view stays where it was";
    for (std::size_t i = 0; i < sorted.size(); ++i) press(Key::Down, ui_frame);
    EXPECT_EQ(view.precision.parameter, sorted.back().parameter);
    frames(2, ui_frame);
    const ImGuiWindow* table = find_window("##weights");
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->Scroll.y, table->ScrollMax.y) << "the last line is in sight";
    view.view = View::Step;
    press(Key::Down, ui_frame);
    EXPECT_NE(view.stage, stage) << "elsewhere the same key changes the layer";
}

TEST_F(Precision, OneButtonLeadsToBothStates) {
    open();
    put_beside(coarser);
    const auto model = session->document().model;
    const StateRef before = session->states().shown;
    ASSERT_TRUE(press_item("##centre", {"Show B − A in Heads"}));
    frames(3, ui_frame);
    EXPECT_EQ(view.view, View::Heads);
    EXPECT_NE(session->document().model, model);
    EXPECT_EQ(session->states().pinned_a, before);
    EXPECT_EQ(view.compare.source, Compare::Pinned) << "it is not over at once";
    EXPECT_TRUE(std::any_of(canvas.calls.begin(), canvas.calls.end(),
                            [](const auto& call) { return call.request.style.map == ColorMap::Diverging; }));
    // Back in the view, A is unchanged.
    view.view = View::Precision;
    frames(2, ui_frame);
    EXPECT_EQ(view.precision.last_of, model);
    EXPECT_EQ(view.precision.last->other, session->document().model);
    const auto compared = view.precision.last;
    frames(2, ui_frame);
    EXPECT_EQ(view.precision.last, compared) << "nor is it compared again";
}

TEST_F(Precision, AnotherModelIsRefusedInASentenceAndTheWindowGoesOn) {
    open();
    put_beside(other_sizes);
    EXPECT_THAT(weights(session->document().model).problem, HasSubstr("this is a different model"));
    EXPECT_FALSE(find("##centre", {"Show B − A in Heads"})) << "there is nothing to show";
    put_beside(coarser);
    EXPECT_TRUE(find("##centre", {"Show B − A in Heads"}));
}

TEST_F(Precision, WhatIsStoppedIsNotAskedFor) {
    open();
    put_beside(coarser);
    view.precision.stopped = true;
    view.precision.last = nullptr;
    frames(2, ui_frame);
    EXPECT_EQ(view.precision.last, nullptr);
    EXPECT_TRUE(press_item("##centre", {"compare"}));
    EXPECT_FALSE(view.precision.stopped);
    frames(2, ui_frame);
    EXPECT_NE(view.precision.last, nullptr) << "asked for again";
}

TEST_F(Precision, DroppedFilesArePutBesideWhatIsShown) {
    open();
    with_context([&](PanelContext& context) {
        EXPECT_TRUE(take_dropped(context, coarser.string()));
        EXPECT_EQ(view.precision.other, coarser.string());
        view.view = View::Heads;
        EXPECT_FALSE(take_dropped(context, coarser.string())) << "elsewhere a model is opened";
        EXPECT_TRUE(take_dropped(context, "/somewhere/tokenizer.json"));
        EXPECT_EQ(view.token_path.other, "/somewhere/tokenizer.json");
        EXPECT_EQ(view.view, View::Step);
        EXPECT_EQ(view.stage.stage, Stage::Tokens);
    });
}

TEST(WeightNames, AreShort) {
    EXPECT_EQ(short_weight_name("layers.3.attention.q.weight"), "L3 attention.q");
    EXPECT_EQ(short_weight_name("encoder.layers.*.norm_1.bias"), "encoder.L* norm_1.bias");
    EXPECT_EQ(short_weight_name("final_norm.weight"), "final_norm.weight");
}

}  // namespace
}  // namespace attn::app::test
