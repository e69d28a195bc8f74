/// A recording in the whole interface: every view draws it or says why not, and of what was recorded only single numbers can be changed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include "app/panels/actions/actions.hpp"
#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/recorded_attentions.hpp"
#include "app/panels/views/shown_numbers.hpp"
#include "app/session/document/look.hpp"
#include "app/session/values/verification.hpp"
#include "engine/io/safetensors.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/window_agreement.hpp"

namespace attn::app::test {
namespace {

constexpr std::string_view kDescription =
    R"({"format": "attnscope-recording/1", "run": 1, "tokens": [["a", "b"]], "graphs": [{"attentions": [{
  "name": "block.attn", "source": "my.py:3", "axes": {"B": 1, "H": 1, "G": 1, "T": 2, "S": 2, "D": 1}, "stages": [
  {"name": "scores", "op": "given", "axes": "BHTS"}, {"name": "v", "op": "given", "axes": "BGSD"},
  {"name": "weights", "op": "softmax", "inputs": ["scores"], "axes": "BHTS", "over": "S", "line": "my.py:7"},
  {"name": "context", "op": "product", "inputs": ["weights", "v"], "axes": "BHTD"}]}]}]})";

class RecordingView : public InterfaceFixture {
protected:
    RecordingView() {
        std::ofstream(folder_ / "recording.json") << kDescription;
        for (const int step : {0, 50}) {
            ArrayFile file;
            file.metadata = {{"format", "attnscope-recording/1"}, {"graph", "0"}};
            const std::vector<float> zeros(4, 0), halves(4, 0.5F), values{1, static_cast<float>(step)};
            const std::vector<float> mixed(2, 0.5F + 0.5F * values[1]);
            file.arrays = {make_array<float>("block.attn/scores", {1, 1, 2, 2}, zeros),
                           make_array<float>("block.attn/v", {1, 1, 2, 1}, values),
                           make_array<float>("block.attn/weights", {1, 1, 2, 2}, halves),
                           make_array<float>("block.attn/context", {1, 1, 2, 1}, mixed)};
            write_safetensors(folder_ / fmt::format("run1-step{:08}-rank0.safetensors", step), file);
        }
        open_example("causal-attention");
        frames(3, ui_frame);
        of_example_ = {has_control("Causal"), has_control("Change this cell"), has_control("Edit the text")};
        open(folder_.path());
    }
    void open(const std::filesystem::path& path) {
        session->apply({command::OpenFile{path}, ""});
        session->wait_for_files();
        session->wait();
        look_afresh(view, *session->document().look);
        frames(4, ui_frame);
    }
    /// The code ran once more, with the same numbers.
    void record_again(const std::string& description) {
        std::ofstream(folder_ / "recording.json") << description;
        for (const char* step : {"step00000000-rank0.safetensors", "step00000050-rank0.safetensors"})
            std::filesystem::rename(folder_ / fmt::format("run1-{}", step), folder_ / fmt::format("run2-{}", step));
        open(folder_.path());
    }
    bool has_control(std::string_view words) const {
        const auto& stops = view.focus.stops();
        return std::any_of(stops.begin(), stops.end(), [&](const FocusStop& stop) { return stop.words == words; });
    }

    void show(const StageId& stage) {
        view.stage = stage;
        frames(3, ui_frame);
    }
    std::vector<float> numbers(Stage stage) const {
        const Tensor<float>& value = trace().find({stage, 0})->value;
        return {value.data(), value.data() + value.size()};
    }
    /// Of the largest map.
    void double_click_on_first_cell() {
        canvas.calls.clear();
        frame(ui_frame);
        const NullCanvas::Call map = largest_map();
        const float x = map.min.x + (map.max.x - map.min.x) / (2 * static_cast<float>(map.request.data.cols)),
                    y = map.min.y + (map.max.y - map.min.y) / (2 * static_cast<float>(map.request.data.rows));
        click(x, y, ui_frame);
        click(x, y, ui_frame);
        frames(2, ui_frame);
    }

    TemporaryFolder folder_;
    std::array<bool, 3> of_example_{};  ///< that the example has what a recording has not
};

TEST_F(RecordingView, EveryViewDrawsItOrSaysWhyNot) {
    for (const View shown : {View::Step, View::Heads, View::Grid, View::Lines, View::Totals, View::Lens, View::KnockOut, View::Write,
                             View::Precision, View::Train, View::Doctor}) {
        view.view = shown;
        frames(2, ui_frame);
        canvas.calls.clear();
        frame(ui_frame);
        const bool draws = shown == View::Step || shown == View::Heads || shown == View::Grid || shown == View::Totals;
        EXPECT_TRUE(!draws || !canvas.calls.empty()) << static_cast<int>(shown);
        with_context([&](PanelContext& context) { EXPECT_EQ(disagreement_in_window(context), "") << static_cast<int>(shown); });
        EXPECT_EQ(session->message(), "");
    }
}

/// Of two layers of PyTorch's, each of which is one operation, no map was recorded: all follow from their parameters.
TEST_F(RecordingView, WhatAKernelKeptIsDrawnInEveryView) {
    std::filesystem::copy(std::filesystem::path(ATTN_TEST_DATA) / "golden/recorded/layers.attn", folder_ / "own.attn");
    open(folder_ / "own.attn");
    for (const View shown : {View::Step, View::Heads, View::Grid, View::Totals, View::Doctor}) {
        view.view = shown;
        frames(3, ui_frame);
        canvas.calls.clear();
        frame(ui_frame);
        EXPECT_TRUE(shown == View::Doctor || !canvas.calls.empty()) << static_cast<int>(shown);
        with_context([&](PanelContext& context) { EXPECT_EQ(disagreement_in_window(context), "") << static_cast<int>(shown); });
        EXPECT_EQ(session->message(), "");
    }
    const std::vector<float> weights = numbers(Stage::Weights);
    ASSERT_EQ(weights.size(), 100U);
    for (std::size_t row = 0; row < weights.size(); row += 5)
        EXPECT_NEAR(std::accumulate(weights.begin() + static_cast<std::ptrdiff_t>(row),
                                    weights.begin() + static_cast<std::ptrdiff_t>(row) + 5, 0.0F),
                    1, 1e-5);
    view.view = View::Step;
    show({Stage::Weights, 0});
    session->wait();
    frames(3, ui_frame);
    with_context([](PanelContext& context) {
        const auto verification = context.ask(facet::Verification{});
        ASSERT_TRUE(verification);
        EXPECT_TRUE(verification->ok);
        EXPECT_EQ(verification->stages.size(), 2U) << "what each layer leaves";
    });
}

/// Of a language model that PyTorch recorded; the palette has the same line.
TEST_F(RecordingView, OpensAsAModelWhichIsThenDrawnInEveryView) {
    std::filesystem::copy(std::filesystem::path(ATTN_TEST_DATA) / "golden/recorded/run.attn", folder_ / "own.attn");
    open(folder_ / "own.attn");
    with_context([](PanelContext& context) {
        const auto action =
            std::find_if(actions().begin(), actions().end(), [](const Action& each) { return each.name == "Open as a model"; });
        ASSERT_NE(action, actions().end());
        EXPECT_TRUE(action->can_run(context));
    });
    frames(3, ui_frame);
    ASSERT_TRUE(press_control("Open as a model"));
    session->wait_for_files();
    session->wait();
    ASSERT_NE(session->document().model, nullptr) << session->files().notice;
    for (const View shown : {View::Step, View::Heads, View::Grid, View::Lines, View::Lens, View::KnockOut}) {
        view.view = shown;
        frames(3, ui_frame);
        canvas.calls.clear();
        frame(ui_frame);
        with_context([&](PanelContext& context) { EXPECT_EQ(disagreement_in_window(context), "") << static_cast<int>(shown); });
        EXPECT_EQ(session->message(), "");
    }
    with_context([](PanelContext& context) { EXPECT_FALSE(shows_own_recording(context)); });
}

/// Each process of a job recorded its part.
TEST_F(RecordingView, TheRanksOfAJobAreChosen) {
    EXPECT_FALSE(has_control("rank 0"));
    std::ofstream(folder_ / "recording-rank1.json") << kDescription;
    ArrayFile file;
    file.metadata = {{"format", "attnscope-recording/1"}, {"graph", "0"}};
    file.arrays = {make_array<float>("block.attn/weights", {1, 1, 2, 2}, std::vector<float>{1, 0, 0.25F, 0.75F})};
    write_safetensors(folder_ / "run1-step00000050-rank1.safetensors", file);
    open(folder_.path());
    EXPECT_EQ(numbers(Stage::Weights)[0], 0.5F);
    ASSERT_TRUE(press_control("rank 1"));
    session->wait_for_files();
    session->wait();
    frames(3, ui_frame);
    EXPECT_EQ(session->document().recorded->recording->recording().rank, 1);
    EXPECT_EQ(session->document().recorded->step, 50);
    EXPECT_EQ(numbers(Stage::Weights)[0], 1);
    ASSERT_TRUE(press_control("rank 0"));
    session->wait_for_files();
    session->wait();
    EXPECT_EQ(numbers(Stage::Weights)[0], 0.5F);
    EXPECT_FALSE(has_control("rank all")) << "they are no parts of one model";
}

/// Processes with heads of one model: what runs beside the attentions is the same in both.
TEST_F(RecordingView, TheHeadsOfAllRanksStandBesideEachOther) {
    std::string description(kDescription);
    const std::string end = "}]}]}";
    ASSERT_TRUE(description.ends_with(end));
    description.replace(description.size() - end.size(), end.size(), R"(}], "around": [
        {"name": "norm", "op": "norm", "axes": "BTC"}, {"name": "sum", "op": "add", "axes": "BTC"}]}]})");
    for (const int rank : {0, 1}) {
        std::ofstream(folder_ / (rank == 0 ? "recording.json" : "recording-rank1.json")) << description;
        ArrayFile file;
        file.metadata = {{"format", "attnscope-recording/1"}, {"graph", "0"}};
        const float first = rank == 0 ? 0.5F : 1;
        file.arrays = {make_array<float>("block.attn/weights", {1, 1, 2, 2}, std::vector<float>{first, 1 - first, 0.25F, 0.75F}),
                       make_array<float>("norm", {1, 2, 2}, std::vector<float>{1, 2, 3, 4}),
                       make_array<float>("sum", {1, 2, 2}, std::vector<float>{5, 6, 7, 8})};
        for (const char* step : {"step00000000", "step00000050"})
            write_safetensors(folder_ / fmt::format("run1-{}-rank{}.safetensors", step, rank), file);
    }
    open(folder_.path());
    EXPECT_EQ(session->document().recorded->recording->recording().rank, std::nullopt);
    EXPECT_THAT(numbers(Stage::Weights), testing::ElementsAre(0.5F, 0.5F, 0.25F, 0.75F, 1, 0, 0.25F, 0.75F));
    const auto choose = [&](std::string_view control) {
        ASSERT_TRUE(press_control(control));
        session->wait_for_files();
        session->wait();
        frames(3, ui_frame);
    };
    choose("rank 1");
    EXPECT_THAT(numbers(Stage::Weights), testing::ElementsAre(1, 0, 0.25F, 0.75F));
    choose("rank all");
    EXPECT_EQ(numbers(Stage::Weights).size(), 8U);
}

TEST_F(RecordingView, WhatTheCodeLoggedIsDrawnInsteadOfATrainingRun) {
    view.view = View::Train;
    frames(2, ui_frame);
    EXPECT_TRUE(view.train.recorded.names.empty());
    std::ofstream(folder_ / "curves-run1-rank0.jsonl") << "{\"step\": 0, \"loss\": 3}\n{\"step\": 60, \"loss\": 2, \"lr\": 0.1}\n";
    std::ofstream(folder_ / "texts-run1-rank0.jsonl") << "{\"step\": 60, \"texts\": [\"a sample\"]}\n";
    for (int tries = 0; tries < 600 && (session->files().logged == nullptr || session->files().logged->texts.empty()); ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        session->update();
    }
    files.logged = session->files().logged;
    frames(4, ui_frame);
    const RecordedCourse& course = view.train.recorded;
    EXPECT_THAT(course.names, testing::ElementsAre("loss", "lr"));
    ASSERT_EQ(course.curves.size(), 2U);
    EXPECT_EQ(course.curves[0].size(), 2U);
    with_context([&](PanelContext& context) { EXPECT_EQ(disagreement_in_window(context), ""); });
    EXPECT_EQ(session->message(), "");
}

/// Of matrices without meaning, too.
TEST_F(RecordingView, MatricesAreDrawnUnderTheirNames) {
    ArrayFile file;
    for (const char* name : {"gram", "other one"}) file.arrays.push_back(make_array<float>(name, {2, 3, 5}, std::vector<float>(30, 0.5F)));
    const std::filesystem::path path = folder_ / "arrays.safetensors";
    write_safetensors(path, file);
    open(path);
    for (const View shown : {View::Step, View::Heads, View::Grid, View::Lines, View::Totals, View::Doctor}) {
        view.view = shown;
        frames(2, ui_frame);
        canvas.calls.clear();
        frame(ui_frame);
        const bool draws = shown == View::Step || shown == View::Heads || shown == View::Grid;
        EXPECT_TRUE(!draws || !canvas.calls.empty()) << static_cast<int>(shown);
        with_context([&](PanelContext& context) { EXPECT_EQ(disagreement_in_window(context), "") << static_cast<int>(shown); });
    }
    view.view = View::Step;
    frames(2, ui_frame);
    with_context([](PanelContext& context) { EXPECT_EQ(stage_numbers(context).title, "gram"); });
    EXPECT_TRUE(has_control("other one"));
    ASSERT_TRUE(press_control("other one"));
    frames(2, ui_frame);
    with_context([](PanelContext& context) { EXPECT_EQ(stage_numbers(context).title, "other one"); });
}

TEST_F(RecordingView, EveryStageIsWalkedThrough) {
    for (const PlanNode& node : trace().plan->nodes()) {
        view.stage = node.id;
        frames(2, ui_frame);
        EXPECT_GT(largest_map().max.x, 0) << tensor_name(node.id);
    }
    EXPECT_EQ(trace().plan->nodes().size(), 4U);
}

/// Numbers that follow from each other may be those of a mistake.
TEST_F(RecordingView, TheBadgeIsGreenOnlyWhereTheCodeHasNoMistake) {
    EXPECT_TRUE(view.drawn.verified);
    std::string mistaken(kDescription);
    mistaken.insert(mistaken.find(R"("source")"), R"("facts": [{"what": "heads_joined_without_transpose", "line": "my.py:9"}], )");
    mistaken.replace(mistaken.find(R"("run": 1)"), 8, R"("run": 2)");
    record_again(mistaken);
    EXPECT_EQ(session->message(), "");
    EXPECT_FALSE(view.drawn.verified);
}

/// A stage that the code has and the recording has not is not left out without a word.
TEST_F(RecordingView, WhatWasNotRecordedHasAPlaceInTheRow) {
    const auto hatched = [&] {
        const auto& stops = view.focus.stops();
        return std::count_if(stops.begin(), stops.end(), [](const FocusStop& stop) { return stop.label == "##missing_station"; });
    };
    EXPECT_EQ(hatched(), 0);
    std::string with_another(kDescription);
    with_another.insert(with_another.find(R"({"name": "scores")"),
                        R"({"name": "q", "op": "given", "axes": "BHTD", "have": "no", "reason": "not asked for"},)");
    with_another.replace(with_another.find(R"("run": 1)"), 8, R"("run": 2)");
    record_again(with_another);
    EXPECT_EQ(session->message(), "");
    EXPECT_EQ(hatched(), 1);
}

TEST_F(RecordingView, SettingsAreThoseOfTheRecording) {
    EXPECT_TRUE(has_control("Read it again"));
    EXPECT_TRUE(has_control("block.attn"));
    EXPECT_EQ(of_example_, (std::array{true, true, true}));
    EXPECT_FALSE(has_control("Causal"));
    EXPECT_FALSE(has_control("Edit the text"));
}

/// Two clicks on a score, a number, Enter: the weights and what is mixed with them are others.
TEST_F(RecordingView, ADoubleClickChangesANumberAndWhatFollows) {
    show({Stage::Scores, 0});
    double_click_on_first_cell();
    ASSERT_TRUE(any_popup_open());
    type("-1000", ui_frame);
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(session->message(), "");
    ASSERT_EQ(session->document().forward.edits.size(), 1U);
    EXPECT_EQ(numbers(Stage::Scores)[0], -1000);
    EXPECT_EQ(numbers(Stage::Weights), (std::vector<float>{0, 1, 0.5F, 0.5F}));
    EXPECT_EQ(numbers(Stage::Context), (std::vector<float>{50, 25.5F}));
    for (const View shown : {View::Step, View::Heads, View::Grid, View::Lines, View::Totals, View::Doctor}) {
        view.view = shown;
        frames(3, ui_frame);
        with_context([&](PanelContext& context) { EXPECT_EQ(disagreement_in_window(context), "") << static_cast<int>(shown); });
    }
    view.view = View::Step;
    view.compare.choose(Compare::Plain);
    show({Stage::Weights, 0});
    const Matrix map = ask([&](const NumberDesk& desk, const Subject& shown) {
        return desk.numbers({.of = shown, .stage = {Stage::Weights, 0}, .sequence = 0, .head = 0}).map;
    });
    EXPECT_EQ(map.at(0, 1), 1);
    const StateRef unedited = session->states().unedited;
    ASSERT_NE(unedited, nullptr);
    EXPECT_EQ(computed(unedited)->trace->find({Stage::Weights, 0})->value.data()[1], 0.5F);
    control('Z');
    EXPECT_TRUE(session->document().forward.edits.empty());
    EXPECT_EQ(numbers(Stage::Weights)[1], 0.5F);
}

TEST_F(RecordingView, TheChosenCellIsChangedByItsButtonAndByEnter) {
    show({Stage::Weights, 0});
    view.locked.set(Axis::T, 1);
    view.locked.set(Axis::S, 0);
    frames(3, ui_frame);
    ASSERT_TRUE(press_control("Change this cell"));
    frames(3, ui_frame);
    ASSERT_TRUE(any_popup_open());
    type("2", ui_frame);
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(numbers(Stage::Weights), (std::vector<float>{0.5F, 0.5F, 2, 0.5F}));
    EXPECT_EQ(numbers(Stage::Context), (std::vector<float>{25.5F, 27}));
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    ASSERT_TRUE(any_popup_open());
    type("0", ui_frame);
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(numbers(Stage::Context)[1], 25);
    EXPECT_EQ(session->document().forward.edits.size(), 1U) << "it is the same number";
}

/// The old number of a stage that an edit made unknown is nowhere; its place in the row is hatched, also while it is the shown one.
TEST_F(RecordingView, WhatAnEditMakesUnknownIsHatched) {
    std::string unknown(kDescription);
    unknown.replace(unknown.find(R"("op": "softmax")"), std::string_view(R"("op": "softmax")").size(),
                    R"("op": "given", "called": "entmax")");
    unknown.replace(unknown.find(R"("run": 1)"), 8, R"("run": 2)");
    record_again(unknown);
    const auto hatched = [&] {
        const auto& stops = view.focus.stops();
        return std::count_if(stops.begin(), stops.end(), [](const FocusStop& stop) { return stop.label == "##missing_station"; });
    };
    ASSERT_EQ(hatched(), 0);
    show({Stage::Weights, 0});
    Edit edit{.kind = EditKind::Set, .at = {Stage::Scores, 0}};
    edit.sequence = edit.head = edit.row = edit.column = 0, edit.value = 3;
    ForwardSettings forward = session->document().forward;
    forward.edits.push_back(edit);
    session->apply({command::SetForward{forward}, ""});
    session->wait();
    for (const View shown : {View::Heads, View::Grid, View::Lines, View::Totals, View::Doctor, View::Step}) {
        view.view = shown;
        frames(3, ui_frame);
        with_context([&](PanelContext& context) { EXPECT_EQ(disagreement_in_window(context), "") << static_cast<int>(shown); });
    }
    EXPECT_EQ(session->message(), "");
    EXPECT_EQ(trace().find({Stage::Weights, 0}), nullptr);
    EXPECT_EQ(trace().find({Stage::Context, 0}), nullptr);
    EXPECT_EQ(hatched(), 2);
    session->apply({command::Undo{}, ""});
    session->wait();
    frames(3, ui_frame);
    EXPECT_EQ(hatched(), 0);
}

TEST_F(RecordingView, KeysThatChangeAModelSayThatThereIsNone) {
    const Document before = session->document();
    type("c", ui_frame);  // causal
    frames(3, ui_frame);
    EXPECT_EQ(session->document(), before);
    EXPECT_THAT(session->files().notice, testing::HasSubstr("a recording holds numbers"));
}

}  // namespace
}  // namespace attn::app::test
