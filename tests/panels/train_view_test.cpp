/// The Train view with simulated mouse and keyboard and a run of known shape; checks the resulting commands.

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <utility>

#include "app/panels/frame/frame.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/session/session.hpp"
#include "app/session/values/sample.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/widgets/number.hpp"
#include "tests/support/fake_training.hpp"
#include "tests/support/imgui_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

class TrainViewTest : public ImGuiFixture {
protected:
    TrainViewTest() {
        contents_have_windows = true;
        document = open_preset("gpt-tiny");
        document.config.num_layers = 2;
        document.config.num_heads = 4;
        Session session(document, [] {});
        snapshot = *session.wait();
        states.shown = snapshot.state;
        view.view = View::Train;
    }

    /// Opens a run of this shape, shown at `step` (none: following the newest).
    void open(const FakeRun& fake, std::optional<std::int64_t> step) {
        report = fake_report({fake});
        document.run = report.status->settings;
        show(step);
        frames(3, ui_frame);
    }
    void show(std::optional<std::int64_t> step) {
        document.trained = TrainedModel{report.status->run, step};
        snapshot.run = report.status->run;
        snapshot.trained_step = step.value_or(report.status->step);
        ++snapshot.serial;
        snapshot.state = std::make_shared<const State>(State{snapshot.state->setup, MomentOfRun{snapshot.run, *snapshot.trained_step, {}}});
        auto sample = std::make_shared<Sample>();
        sample->tokens = {{"a", 0}, {"b", 1}};
        states.shown = snapshot.state;
        know({states.shown, facet::Trace{}}, std::make_shared<const Snapshot>(snapshot));
        know({states.shown, facet::Sample{document.sampling}}, sample);
    }
    /// Adds a result as if the scheduler had computed it.
    void know(const Request& request, std::shared_ptr<const void> value) {
        auto fact = std::make_shared<Fact>();
        fact->request = request;
        fact->value = std::move(value);
        facts.push_back(std::move(fact));
    }

    void draw() {
        CommandSink sink;
        const auto shared = std::make_shared<const Snapshot>(snapshot);
        Inquiry inquiry(Results{facts});
        number_store.begin_frame();
        PanelContext context{{.theme = theme,
                              .canvas = canvas,
                              .document = document,
                              .inquiry = inquiry,
                              .training = report,
                              .view = view,
                              .number_store = number_store,
                              .commands = sink,
                              .now = now},
                             *shared,
                             states};
        if (std::exchange(go_to_lowest, false)) show_lowest_loss(context);
        draw_frame(context);
        axis_end = run_end(context);
        rate_words = words_of_rate(context);
        for (const Command& command : sink) {
            commands.push_back(command);
            if (const auto* pin = std::get_if<command::Pin>(&command.what)) (pin->b ? states.pinned_b : states.pinned_a) = pin->state;
            if (const auto* moment = std::get_if<command::ShowMoment>(&command.what)) show(moment->step);
            if (const auto* run = std::get_if<command::SetRun>(&command.what)) document.run = run->run;
        }
        now += 1.0 / 60;
    }
    template <class What>
    const What* last() const {
        return commands.empty() ? nullptr : std::get_if<What>(&commands.back().what);
    }
    template <class What>
    std::vector<const Command*> all() const {
        std::vector<const Command*> found;
        for (const Command& command : commands)
            if (std::holds_alternative<What>(command.what)) found.push_back(&command);
        return found;
    }
    std::pair<Color, Dash> looks_of_head(int layer, std::int64_t head) {
        CommandSink sink;
        Inquiry inquiry;
        const PanelContext context{{.theme = theme,
                                    .canvas = canvas,
                                    .document = document,
                                    .inquiry = inquiry,
                                    .training = report,
                                    .view = view,
                                    .number_store = number_store,
                                    .commands = sink},
                                   snapshot,
                                   states};
        const LineLook found = head_look(context, {{Stage::Weights, layer}, head});
        return {found.color, found.dash};
    }
    ImVec2 find(std::string_view window, std::initializer_list<const char*> path, float step_x = 16, float step_y = 7) {
        const auto hover = [this](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        };
        const std::optional<ImVec2> at = find_item(window, path, hover, step_x, step_y);
        EXPECT_TRUE(at.has_value()) << *path.begin() << " is not on screen";
        return at.value_or(ImVec2(0, 0));
    }
    void press_button(std::string_view window, std::initializer_list<const char*> path) {
        const ImVec2 at = find(window, path);
        click(at.x, at.y, ui_frame);
    }

    std::function<void()> ui_frame = [this] { draw(); };
    Document document;
    Snapshot snapshot;
    States states;
    Results::Facts facts;
    TrainingReport report{std::make_shared<const RunStatus>(), {}};
    ViewState view;
    NumberStore number_store;
    std::vector<Command> commands;
    double now = 0, axis_end = 0;
    std::string rate_words;
    bool go_to_lowest = false;
};

TEST_F(TrainViewTest, BeforeTheFirstRunItInvitesAndShowsNoNumbers) {
    frames(3, ui_frame);
    EXPECT_TRUE(canvas.calls.empty());
    press(Key::Space, ui_frame);
    EXPECT_NE(last<command::StartTraining>(), nullptr);
    commands.clear();
    press_button("##loss", {"Start##invitation"});
    EXPECT_NE(last<command::StartTraining>(), nullptr);
}

TEST_F(TrainViewTest, EveryStateIsDrawnAtEverySizeInBothThemes) {
    const auto draw_all = [&] {
        for (const bool dark : {true, false}) {
            theme.colors = palette(dark);
            for (const ImVec2 size : {ImVec2(1600, 1000), ImVec2(1280, 720), ImVec2(900, 600), ImVec2(640, 400), ImVec2(90, 60)}) {
                ImGui::GetIO().DisplaySize = size;
                for (int side = 0; side < 2; ++side) {
                    view.train.side = side;
                    frames(2, ui_frame);
                    EXPECT_GT(vertices(), 0);
                }
            }
        }
        ImGui::GetIO().DisplaySize = ImVec2(1600, 1000);
    };
    draw_all();
    for (const TrainingPhase phase : {TrainingPhase::Running, TrainingPhase::Paused, TrainingPhase::Finished, TrainingPhase::Failed}) {
        open({.run = 1, .phase = phase}, phase == TrainingPhase::Paused ? std::optional<std::int64_t>(620) : std::nullopt);
        draw_all();
    }
    // A run without points, and one with a single point.
    for (const std::int64_t steps : {0, 1}) {
        open({.run = 1, .steps = steps}, std::nullopt);
        view.train.plot.log_x = view.train.log_loss = steps == 1;
        draw_all();
    }
    report.runs.clear();
    draw_all();
}

TEST_F(TrainViewTest, TheAxisOfAReopenedRunEndsWhereTheRunWillEnd) {
    open({.run = 1, .steps = 240, .limit = 600}, std::nullopt);
    EXPECT_EQ(axis_end, 400) << "of a run that has just begun it grows";
    auto reopened = std::make_shared<RunStatus>(*report.status);
    reopened->from_file = true;
    report.status = reopened;
    frames(2, ui_frame);
    EXPECT_EQ(axis_end, 600);
}

TEST_F(TrainViewTest, TheMemoryForTheStepsOfAllRunsIsShownAndSet) {
    view.settings.folded = {"run optimizer", "run mistake", "run model", "run parts", "run stop", "run sampling"};
    open({.run = 1}, std::nullopt);
    const ImVec2 memory = find("##train_scroll", {"limit", "track"});
    drag(memory, {memory.x + 40, memory.y}, ui_frame);
    ASSERT_FALSE(all<command::SetHistoryBudget>().empty());
    EXPECT_GT(std::get<command::SetHistoryBudget>(all<command::SetHistoryBudget>().back()->what).mib, 16);
    EXPECT_EQ(std::get<command::SetHistoryBudget>(all<command::SetHistoryBudget>().back()->what).mib, view.train.history_mib);
}

TEST_F(TrainViewTest, KeysStartPauseStepAndMoveBetweenMoments) {
    open({.run = 1, .steps = 400}, std::nullopt);
    press(Key::Space, ui_frame);
    EXPECT_NE(last<command::PauseTraining>(), nullptr);
    type("+", ui_frame);
    EXPECT_NE(last<command::StepTraining>(), nullptr);
    press(Key::Left, ui_frame);
    ASSERT_NE(last<command::ShowMoment>(), nullptr);
    EXPECT_EQ(last<command::ShowMoment>()->step, 398);
    press(Key::Right, ui_frame);
    EXPECT_EQ(last<command::ShowMoment>()->step, std::nullopt);
    press(Key::Home, ui_frame);
    EXPECT_EQ(last<command::ShowMoment>()->step, 0);
    press(Key::End, ui_frame);
    EXPECT_EQ(last<command::ShowMoment>()->step, std::nullopt);
    EXPECT_FALSE(document.trained->step.has_value());
}

TEST_F(TrainViewTest, TheLowestHeldOutLossIsFoundBesideOneThatIsNoNumber) {
    report = fake_report({{.run = 1, .steps = 400}});
    report.runs[0].validations[0].loss = std::numeric_limits<double>::quiet_NaN();
    report.runs[0].validations[4].loss = 1e-3;
    document.run = report.status->settings;
    show(std::nullopt);
    go_to_lowest = true;
    frame(ui_frame);
    const auto moments = all<command::ShowMoment>();
    ASSERT_EQ(moments.size(), 1U);
    EXPECT_EQ(std::get<command::ShowMoment>(moments[0]->what).step, 100);
}

TEST_F(TrainViewTest, ALongNameEndsWithAWholeCharacter) {
    view.train.naming = {1, std::string(59, 'a') + "äb", true};
    open({.run = 1, .steps = 400}, std::nullopt);
    press(Key::Enter, ui_frame);
    const auto names = all<command::RenameRun>();
    ASSERT_EQ(names.size(), 1U);
    EXPECT_EQ(std::get<command::RenameRun>(names[0]->what).name, std::string(59, 'a'));
}

TEST_F(TrainViewTest, DraggingTheSliderRewindsInOneUndoStep) {
    open({.run = 1, .steps = 400}, std::nullopt);
    const ImVec2 at = find("##history", {"##moment"});
    const ImGuiWindow* window = find_window("##history");
    const float left = window->Pos.x + 30, right = window->Pos.x + window->Size.x - 272;
    commands.clear();
    drag({right, at.y}, {left, at.y}, ui_frame, 12);
    auto moments = all<command::ShowMoment>();
    ASSERT_GT(moments.size(), 4U);
    EXPECT_EQ(std::get<command::ShowMoment>(moments.back()->what).step, 0);
    for (const Command* command : moments) {
        EXPECT_FALSE(command->merge.empty());
        EXPECT_EQ(command->merge, moments.front()->merge);
    }
    const std::string first = moments.front()->merge;
    commands.clear();
    drag({window->Pos.x + 70, at.y}, {right + 34, at.y}, ui_frame, 12);
    moments = all<command::ShowMoment>();
    ASSERT_FALSE(moments.empty());
    EXPECT_EQ(std::get<command::ShowMoment>(moments.back()->what).step, std::nullopt) << "at the right end the newest is followed";
    EXPECT_NE(moments.back()->merge, first);
}

TEST_F(TrainViewTest, AClickInThePlotShowsTheNearestMoment) {
    open({.run = 1, .steps = 400, .limit = 400}, std::nullopt);
    const ImVec2 at = find("##loss", {"##plot"});
    click(at.x + 200, at.y + 80, ui_frame);
    ASSERT_NE(last<command::ShowMoment>(), nullptr);
    const std::int64_t step = last<command::ShowMoment>()->step.value_or(-1);
    EXPECT_TRUE(step > 50 && step < 350) << step;
    EXPECT_EQ(step % 2, 0) << "only every second step was kept";
}

TEST_F(TrainViewTest, TheLearningRateAppliesAtOnceAndIsOneUndoStep) {
    open({.run = 1}, std::nullopt);
    const ImVec2 at = find("##train_scroll", {"learning rate", "track"});
    drag({at.x + 40, at.y}, {at.x + 160, at.y}, ui_frame, 6);
    const auto changes = all<command::SetRun>();
    ASSERT_GT(changes.size(), 2U);
    for (const Command* command : changes) EXPECT_EQ(command->merge, changes.front()->merge);
    EXPECT_GT(document.run.train.schedule.rate, 3e-3);
    EXPECT_TRUE(same_model(document.run, report.status->settings));
}

TEST_F(TrainViewTest, TheRateOfTheSliderIsThePlotsOrItIsSaidWhyNot) {
    open({.run = 1, .steps = 1240}, std::nullopt);
    const double newest = report.runs[0].losses.back().learning_rate;
    EXPECT_EQ(rate_words, format_scientific(newest, 1) + " at step 1,240: cosine schedule");
    show(20);
    frames(2, ui_frame);
    EXPECT_TRUE(rate_words.ends_with("warm-up")) << rate_words;
    show(50);  // the first step after the warm-up
    frames(2, ui_frame);
    EXPECT_EQ(rate_words, "");
    report.runs[0].settings.train.schedule.rate = 1e-3;
    report.runs[0].changes = {{600, document.run}};
    show(400);
    frames(2, ui_frame);
    EXPECT_TRUE(rate_words.ends_with("set otherwise then")) << rate_words;
}

TEST_F(TrainViewTest, HeadsDifferByColourAndDash) {
    frames(2, ui_frame);
    std::set<std::pair<Color, Dash>> looks;
    for (int layer = 0; layer < 4; ++layer)
        for (std::int64_t head = 0; head < 8; ++head) looks.insert(looks_of_head(layer, head));
    EXPECT_EQ(looks.size(), 32U);
}

TEST_F(TrainViewTest, TheHeadThatFormsIsLargeUntilAnotherOneIsChosen) {
    open({.run = 1}, std::nullopt);
    const HeadPlace induction{{Stage::Weights, 1}, 2};
    EXPECT_EQ(view.train.large, induction);
    const auto large = [&] {
        float side = 0;
        for (const auto& call : canvas.calls) side = std::max(side, call.max.x - call.min.x);
        return side;
    };
    EXPECT_GT(large(), 300);
    type("]", ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.train.large, (HeadPlace{{Stage::Weights, std::max(view.stage.layer, 0)}, view.head}));
    press_button("##attention", {"L1 H2 forms: show it"});
    frames(2, ui_frame);
    EXPECT_EQ(view.train.large, induction);
}

TEST_F(TrainViewTest, APartOfTheModelIsChosenForTheNextRun) {
    open({.run = 1}, std::nullopt);
    const Config before = document.run.model;
    ASSERT_EQ(before.position, PositionKind::Learned);
    view.settings.folded = {"run model", "run optimizer", "run mistake", "run stop", "run sampling", "run checkpoint"};
    document.config = open_preset("llama-tiny").config;
    document.trained.reset();  // the other views show a model that is not the run's
    frames(2, ui_frame);
    move_mouse(140, 500);
    wheel(-1, ui_frame);
    frames(20, ui_frame);
    press_button("##train_scroll", {"as in the model shown"});
    const Config& model = document.run.model;
    EXPECT_EQ(model.position, PositionKind::Rotary);
    EXPECT_EQ(model.norm_kind, NormKind::Rms);
    EXPECT_TRUE(model.ffn_gated && model.lm_head);
    EXPECT_LT(model.kv_heads(), model.num_heads);
    EXPECT_FALSE(same_model(document.run, report.status->settings)) << "it waits for a new run";
}

TEST_F(TrainViewTest, AnotherModelNeedsANewRunAndTheButtonSaysSo) {
    view.settings.folded = {"run list", "run optimizer"};
    open({.run = 1}, std::nullopt);
    const auto hover = [this](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    };
    EXPECT_FALSE(find_item("##run", {"Start a new run##start"}, hover, 60).has_value());
    const ImVec2 at = find("##train_scroll", {"layers", "track"});
    drag({at.x + 10, at.y}, {at.x + 120, at.y}, ui_frame, 3);
    EXPECT_GT(document.run.model.num_layers, 2);
    press_button("##run", {"Start a new run##start"});
    EXPECT_NE(last<command::RestartTraining>(), nullptr);
    press_button("##run", {"keep this run"});
    EXPECT_EQ(document.run.model.num_layers, 2);
    press_button("##run", {"Pause##start"});
    EXPECT_NE(last<command::PauseTraining>(), nullptr);
}

TEST_F(TrainViewTest, ReplayWalksToTheNewestAndStops) {
    open({.run = 1, .steps = 300}, std::nullopt);
    type("m", ui_frame);
    EXPECT_TRUE(view.train.replaying);
    EXPECT_EQ(last<command::ShowMoment>()->step, 0);
    std::int64_t before = 0;
    for (int i = 0; i < 60 * 30 && view.train.replaying; ++i) {
        frame(ui_frame);
        const auto step = document.trained->step;
        if (step) {
            EXPECT_GE(*step, before);
        }
        before = step.value_or(before);
    }
    EXPECT_FALSE(view.train.replaying);
    EXPECT_FALSE(document.trained->step.has_value());
    const auto moments = all<command::ShowMoment>();
    for (const Command* command : moments) EXPECT_EQ(command->merge, moments.front()->merge);
}

TEST_F(TrainViewTest, ATileChoosesItsHead) {
    open({.run = 1}, 620);
    ASSERT_GE(canvas.calls.size(), 8U);
    const auto tile = canvas.calls[4 + 2];
    click((tile.min.x + tile.max.x) / 2, (tile.min.y + tile.max.y) / 2, ui_frame);
    EXPECT_EQ(view.stage, (StageId{Stage::Weights, 1}));
    EXPECT_EQ(view.head, 2);
    EXPECT_EQ(view.view, View::Train);
    EXPECT_TRUE(commands.empty());
}

TEST_F(TrainViewTest, TheNameOfAHeadLeadsToTheMomentAtWhichItForms) {
    open({.run = 1}, std::nullopt);
    const ImGuiWindow* window = find_window("##history");
    const ImGuiID plot = ImHashStr("##plot", 0, window->ID);
    bool found = false;
    // Above the plot, only labels are drawn.
    for (float y = window->Pos.y + 60; y < window->Pos.y + window->Size.y - 90 && !found; y += 6) {
        for (float x = window->Pos.x + 80; x < window->Pos.x + window->Size.x - 60 && !found; x += 20) {
            move_mouse(x, y);
            frames(2, ui_frame);
            const ImGuiID hovered = ImGui::GetCurrentContext()->HoveredIdPreviousFrame;
            found = hovered != 0 && hovered != plot;
            if (found) click(x, y, ui_frame);
        }
    }
    ASSERT_TRUE(found);
    ASSERT_NE(last<command::ShowMoment>(), nullptr);
    const std::int64_t step = last<command::ShowMoment>()->step.value_or(-1);
    const bool previous = view.stage.layer == 0 && view.head == 1, induction = view.stage.layer == 1 && view.head == 2;
    EXPECT_TRUE((previous && step > 290 && step < 370) || (induction && step > 480 && step < 570))
        << "layer " << view.stage.layer << " head " << view.head << " at step " << step;
}

TEST_F(TrainViewTest, PinsShowTheDifferenceOfTwoMoments) {
    open({.run = 1}, 100);
    type("a", ui_frame);
    ASSERT_NE(states.pinned_a, nullptr);
    EXPECT_EQ(moment_of(*states.pinned_a)->step, 100);
    EXPECT_EQ(view.compare.source, Compare::Pinned);
    document.pins.a = *states.pinned_a;  // as the command does
    show(620);
    frame(ui_frame);
    type("b", ui_frame);
    ASSERT_NE(states.pinned_b, nullptr);
    EXPECT_EQ(moment_of(*states.pinned_b)->step, 620);
    EXPECT_EQ(view.compare.source, Compare::Pinned) << "B pins here and does not switch the comparison";
    view.train.difference = true;
    frames(2, ui_frame);
    ASSERT_GE(canvas.calls.size(), 8U);
    EXPECT_EQ(canvas.calls[0].request.style.map, ColorMap::Diverging);
    for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(canvas.calls[0].request.data.values[i], 0) << "both are of the same numbers here";
}

TEST_F(TrainViewTest, LinesShowTheChosenHeadAndATokensOwnOnes) {
    open({.run = 1}, 100);
    const std::size_t maps = canvas.calls.size();
    view.train.lines = true;
    view.locked.clear();
    frames(2, ui_frame);
    EXPECT_EQ(canvas.calls.size() + 9, maps) << "the large map and the eight small ones give way to lines";
    const ImGuiWindow* window = find_window("##attention");
    ASSERT_NE(window, nullptr);
    // Queries are on the right: moving down reaches all of them in order.
    const auto queries = static_cast<std::int64_t>(snapshot.tokens[0].size());
    std::vector<std::int64_t> met;
    for (float y = window->Pos.y + 40; y < window->Pos.y + window->Size.y; y += 3) {
        move_mouse(window->Pos.x + window->Size.x - 30, y);
        frames(2, ui_frame);
        const auto query = view.hovered.on(Axis::T);
        if (query && (met.empty() || met.back() != *query)) met.push_back(*query);
        if (query && *query == 2) click(window->Pos.x + window->Size.x - 30, y, ui_frame);
    }
    std::vector<std::int64_t> all(static_cast<std::size_t>(queries));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    EXPECT_EQ(met, all);
    EXPECT_EQ(view.locked.on(Axis::T), 2);
}

TEST_F(TrainViewTest, EarlierRunsAreListedAndGoneOnlyWhenAskedTwice) {
    report = fake_report({{.run = 1, .rate = 1e-3}, {.run = 2}});
    auto with_kept = std::make_shared<RunStatus>(*report.status);
    with_kept->kept = {{.run = 1, .settings = report.runs[0].settings, .step = 620, .moments = 201}};
    report.status = with_kept;
    document.run = report.status->settings;
    show(std::nullopt);
    frames(3, ui_frame);
    const ImGuiWindow* window = find_window("##train_scroll");
    ASSERT_NE(window, nullptr);
    const auto press_part = [&](const char* part) {
        move_mouse(2, 2);
        frames(2, ui_frame);
        const ImGuiID id = ImHashStr(part, 0, ImHashData("\x01\0\0\0", 4, window->ID));
        for (float y = window->Pos.y + 4; y < window->Pos.y + 200; y += 6)
            for (float x = window->Pos.x + 10; x < window->Pos.x + window->Size.x; x += 8) {
                move_mouse(x, y);
                frame(ui_frame);
                if (ImGui::GetCurrentContext()->HoveredIdPreviousFrame != id) continue;
                click(x, y, ui_frame);
                return true;
            }
        return false;
    };
    ASSERT_TRUE(press_part("##forget"));
    EXPECT_EQ(last<command::ForgetRun>(), nullptr) << "not at the first press";
    ASSERT_TRUE(press_part("##choose"));
    ASSERT_NE(last<command::ChooseRun>(), nullptr);
    EXPECT_EQ(last<command::ChooseRun>()->run, 1U);
    ASSERT_TRUE(press_part("##forget"));
    EXPECT_EQ(last<command::ForgetRun>(), nullptr) << "something else was done meanwhile";
    ASSERT_TRUE(press_part("##forget"));
    ASSERT_NE(last<command::ForgetRun>(), nullptr);
    EXPECT_EQ(last<command::ForgetRun>()->run, 1U);
}

TEST_F(TrainViewTest, ThreeHundredThousandStepsCostNoMoreThanHalfOfThem) {
    open({.run = 1, .steps = 150000, .limit = 150000}, std::nullopt);
    frames(2, ui_frame);
    const int few = vertices();
    open({.run = 1, .steps = 300000, .limit = 300000}, std::nullopt);
    frames(2, ui_frame);
    EXPECT_LT(vertices(), few * 21 / 20);
}

TEST_F(TrainViewTest, OtherViewsSayWhatIsShownAndLeadBack) {
    open({.run = 1}, 620);
    view.view = View::Step;
    frames(2, ui_frame);
    press_button("##text", {"##untrained"});
    EXPECT_NE(last<command::ShowUntrained>(), nullptr);
    press_button("##text", {"##run_chip"});
    EXPECT_EQ(view.view, View::Train);
    view.view = View::Step;
    document.trained.reset();
    frames(2, ui_frame);
    const auto hover = [this](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    };
    EXPECT_FALSE(find_item("##text", {"##run_chip"}, hover).has_value()) << "nothing of the run is left where it is not shown";
    press(Key::Space, ui_frame);
    EXPECT_TRUE(view.playing) << "outside of the Train view Space plays the stages";
}

}  // namespace
}  // namespace attn::app::test
