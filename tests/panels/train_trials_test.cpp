/// What somebody does who watches runs, from beginning to end with mouse and keyboard, and in how few clicks.

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "app/panels/files/files.hpp"
#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/train_words.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/autosave.hpp"
#include "app/session/training/trainer.hpp"
#include "engine/train/resume.hpp"
#include "engine/train/run_folder_writer.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class TrainTrial : public InterfaceFixture {
protected:
    TrainTrial() {
#if IMGUI_VERSION_NUM < 18700
        ImGui::GetIO().KeyMap[ImGuiKey_A] = 'A';
#endif
        instant = false;
        begin(open_preset("stories"));
    }
    void begin(Document document) {
        session = std::make_unique<Session>(std::move(document), [] {});
        session->wait();
        frames(3, ui_frame);
    }
    void draw() override {
        files = session->files();
        would_be_lost = {files.would_be_lost, run().step != run().saved_step, {}, files.left != nullptr};
        for (const KeptRun& kept : run().kept)
            if (kept.unsaved()) would_be_lost.earlier_runs.push_back(kept.run);
        InterfaceFixture::draw();
    }

    const RunStatus& run() const { return *session->training().status; }
    const RunCurves& curves() const { return session->training().runs.back(); }
    template <class Condition>
    bool becomes(const Condition& condition) {
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < end) {
            frame(ui_frame);
            if (condition()) return true;
            std::this_thread::sleep_for(1ms);
        }
        return false;
    }
    std::optional<ImVec2> look_for(std::string_view window, std::initializer_list<const char*> path, float step_x = 16, float step_y = 7) {
        const auto hover = [this](float x, float y) {
            move_mouse(x, y);
            frame(ui_frame);
        };
        hover(2, 2);
        hover(2, 2);  // what was under the mouse before is forgotten
        return find_item(window, path, hover, step_x, step_y);
    }
    void click_at(ImVec2 at) {
        click(at.x, at.y, ui_frame);
        ++clicks;
        frames(2, ui_frame);
    }
    void press_control(std::string_view window, std::initializer_list<const char*> path, float step_x = 16, float step_y = 7) {
        const auto at = look_for(window, path, step_x, step_y);
        ASSERT_TRUE(at.has_value()) << *(path.end() - 1) << " is not on screen";
        click_at(*at);
    }
    /// In place of what the field holds, which has the keyboard.
    void type_path(const std::string& path) {
        frames(2, ui_frame);
        control('A');
        type(path, ui_frame);
        frames(3, ui_frame);
    }
    /// A small run of the task that the document has; it ends after so many steps.
    void set_small_run(TaskKind task, std::int64_t steps, std::int64_t evaluate_every = 10) {
        RunSettings settings = small_run(steps);
        settings.task.kind = task;
        if (task == TaskKind::Text) settings.task = default_run(task).task;
        settings.evaluate_every = evaluate_every;
        apply(*session, command::SetRun{settings});
        frames(2, ui_frame);
    }
    bool is_open(std::string_view window) const { return find_window(window) != nullptr; }
    bool finished() const { return run().phase == TrainingPhase::Finished; }
    double axis_end() {
        double end = 0;
        with_context([&](PanelContext& context) { end = plot_end(context); });
        return end;
    }

    int clicks = 0;
};

/// Watch a run, save it, come back to it.
TEST_F(TrainTrial, WatchSaveAndReturn) {
    const TemporaryFolder folder;
    press_control("##top", {"Train", "tab"});
    for (const char* box : {"##attention", "##accuracy", "##norm", "##rate", "##predictions", "##history"})
        EXPECT_FALSE(is_open(box)) << box << " is there before there is something in it";
    set_small_run(TaskKind::Repeat, 120);
    press_control("##loss", {"Start##invitation"});
    ASSERT_TRUE(becomes([&] { return finished() && session->snapshot()->trained_step == 120; }));
    for (const char* large : {"##loss", "##attention"}) {
        const ImGuiWindow* window = find_window(large);
        ASSERT_NE(window, nullptr);
        EXPECT_GE(window->Size.y, 420) << large;
        EXPECT_NEAR(window->Size.x, find_window("##training")->Size.x / 2, 10) << large;
    }
    press(Key::Home, ui_frame);
    ASSERT_TRUE(becomes([&] { return session->snapshot()->trained_step == 0; }));
    const auto weights = session->snapshot()->trace->find({Stage::Weights, 0})->value.values();
    const std::size_t second = session->snapshot()->tokens[0].size();
    EXPECT_NEAR(weights[second], 0.5, 0.1) << "the second row is spread evenly over both words";
    EXPECT_NEAR(weights[second + 1], 0.5, 0.1);
    press(Key::End, ui_frame);
    press(Key::Left, ui_frame);
    ASSERT_TRUE(becomes([&] { return session->snapshot()->trained_step.value_or(120) < 120; }));
    const std::int64_t shown = *session->snapshot()->trained_step;
    control('S');
    type_path((folder / "mine.attnscope.json").string());
    press(Key::Enter, ui_frame);
    session->wait_for_files();
    control('Q');
    EXPECT_EQ(view.files.closing, Closing::Now) << "nothing would be lost";
    const RunCurves before = curves();
    const std::vector<std::int64_t> moments = run().moments;

    view = {};
    begin(open_preset("stories"));
    apply(*session, command::OpenFile{folder / "mine.attnscope.json"});
    ASSERT_TRUE(becomes([&] {
        return run().run != 0 && session->snapshot()->trained_step == shown && curves().validations.size() == before.validations.size();
    }));
    EXPECT_EQ(curves().losses, before.losses);
    EXPECT_EQ(curves().validations, before.validations);
    EXPECT_EQ(run().moments, moments);
    EXPECT_LE(clicks, 2);
}

/// Code of one's own was recorded, is opened as a model, and learns on from where it was.
TEST_F(TrainTrial, ARecordedModelIsTrainedFurther) {
    const TemporaryFolder folder;
    fs::copy(fs::path(ATTN_TEST_DATA) / "golden/recorded/run.attn", folder / "own.attn");
    apply(*session, command::OpenFile{folder / "own.attn"});
    ASSERT_TRUE(becomes([&] { return session->document().recorded.has_value(); }));
    apply(*session, command::OpenAsModel{});
    ASSERT_TRUE(becomes([&] { return session->document().model != nullptr; })) << session->files().notice;
    const auto numbers = [](const Parameters<float>& parameters) {
        std::vector<float> all;
        for (const ParameterInfo& info : parameters.layout().entries())
            for (const float number : parameters.copy(info)) all.push_back(number);
        return all;
    };
    const std::vector<float> recorded = numbers(*session->document().model->parameters());
    press_control("##top", {"Train", "tab"});
    set_small_run(TaskKind::Repeat, 30);
    RunSettings settings = session->document().run;
    settings.task.length = 4;
    settings.task.symbols = 6;
    apply(*session, command::SetRun{settings});
    frames(3, ui_frame);
    ASSERT_TRUE(InterfaceFixture::press_control("begin with own-model-0"));
    EXPECT_EQ(session->document().run.from, (folder / "own.attn/own-model-0").string());
    press_control("##loss", {"Start##invitation"});
    ASSERT_TRUE(becomes([&] { return finished() && session->snapshot()->trained_step == 30; })) << run().message;
    EXPECT_EQ(run().settings.model.num_heads, 2);
    EXPECT_LT(curves().losses.back().loss, curves().losses.front().loss);
    press(Key::Home, ui_frame);
    ASSERT_TRUE(becomes([&] { return session->snapshot()->trained_step == 0; }));
    EXPECT_EQ(numbers(*session->snapshot()->trace->parameters), recorded);
    EXPECT_NE(numbers(*run().parameters), recorded);
    apply(*session, command::ResetTraining{});
    ASSERT_TRUE(becomes([&] { return run().step == 0 && run().phase == TrainingPhase::Paused; }));
    EXPECT_EQ(numbers(*run().parameters), recorded) << "a new run begins with the model again";
    ASSERT_TRUE(InterfaceFixture::press_control("begin with random numbers"));
    EXPECT_EQ(session->document().run.from, "");
}

/// Several runs at the end of a session: each is named, has a folder of its own, and is saved.
TEST_F(TrainTrial, SaveAllRunsAndClose) {
    const TemporaryFolder folder;
    for (const std::int64_t steps : {12, 14, 16}) {
        set_small_run(TaskKind::Repeat, steps);
        apply(*session, command::RestartTraining{});
        ASSERT_TRUE(becomes([&] { return finished() && run().step == steps; }));
    }
    apply(*session, command::RenameRun{2, "warm/up"});
    ASSERT_TRUE(becomes([&] { return run().kept.at(1).name == "warm/up"; }));
    control('Q');
    ASSERT_EQ(view.files.closing, Closing::Asked);
    press_control("##close_sheet", {"Save all and close##save"});
    ASSERT_TRUE(becomes([&] { return view.files.task == FileTask::SaveRun; }));
    view.files.path.text = (folder / fs::path(view.files.path.text).filename()).string();
    view.files.path.focus = true;
    ImGui::ClearActiveID();
    frames(3, ui_frame);
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(becomes([&] { return view.files.task == FileTask::SaveRun; })) << i;
        frames(3, ui_frame);  // its field has the keyboard
        press(Key::Enter, ui_frame);
    }
    EXPECT_TRUE(becomes([&] { return view.files.closing == Closing::Now; }));
    EXPECT_FALSE(files.in_the_way) << "no run is proposed the folder of another";
    for (const auto& [name, steps] : {std::pair("repeat-run", 12), std::pair("warm-up", 14), std::pair("repeat-run-3", 16)})
        EXPECT_EQ(read_run_checkpoint(folder / name).steps, steps) << name;
}

/// A run that another process trains: its folder is open, and what it saves appears.
TEST_F(TrainTrial, FollowARunFromItsFolder) {
    const TemporaryFolder folder;
    TrainingRun elsewhere(small_run(1000));
    RunFolder saved;
    auto writer = std::make_unique<RunFolderWriter>(folder / "run");
    writer->begin({}, 0);
    const auto train_to = [&](std::int64_t steps) {
        while (elsewhere.steps() < steps) saved.losses.push_back(elsewhere.step());
        elsewhere.keep();
        saved.checkpoint = take_checkpoint(elsewhere);
        saved.moments = elsewhere.history().moments();
        EXPECT_EQ(writer->save(saved), "");
    };
    train_to(20);
    press_control("##top", {"##file", "button"});
    press_control("##Popup", {"Open…", "item"}, 16, 5);
    const std::string typed = (folder / "run/").string();
    type_path(typed);
    // The words about what had been typed before the last letter are the same.
    ASSERT_TRUE(becomes(
        [&] { return files.preview != nullptr && files.preview->path == typed && files.preview->words.starts_with("Training run"); }));
    press(Key::Enter, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().run != 0; })) << session->files().notice;
    ASSERT_TRUE(becomes([&] { return run().followed; }));
    EXPECT_EQ(curves().losses.size(), 20U);
    view.view = View::Step;
    ASSERT_TRUE(becomes([&] { return session->snapshot()->trained_step == 20; }));
    EXPECT_TRUE(look_for("##text", {"##run_chip"}).has_value());
    for (const std::int64_t steps : {35, 60}) {
        train_to(steps);
        ASSERT_TRUE(becomes([&] { return session->snapshot()->trained_step == steps; })) << "the shown step moves without a click";
        EXPECT_EQ(curves().losses, saved.losses);
        EXPECT_EQ(run().run, 1U);
    }
    writer.reset();
    EXPECT_TRUE(becomes([&] { return !run().followed; })) << "the other process has ended";
    EXPECT_LE(clicks, 4);
}

TEST_F(TrainTrial, TwoShortRunsBesideALongOne) {
    press_control("##top", {"Train", "tab"});
    set_small_run(TaskKind::Text, 7600, 400);
    press_control("##loss", {"Start##invitation"});
    ASSERT_TRUE(becomes([&] { return finished(); }));
    for (const double rate : {3e-3, 1e-3}) {
        set_small_run(TaskKind::Repeat, 170);
        RunSettings settings = session->document().run;
        settings.train.schedule.rate = rate;
        apply(*session, command::SetRun{settings});
        now += 2;
        const std::uint64_t before = run().run;
        press_control("##run", {"Start a new run##start"});
        ASSERT_TRUE(becomes([&] { return run().run > before && finished(); }));
        EXPECT_EQ(run().settings.train.schedule.rate, rate);
    }
    EXPECT_EQ(axis_end(), 7600);
    const ImGuiID list = find_window("##train_scroll")->ID;
    const auto in_row = [&](std::uint32_t number, const char* part) {
        const ImGuiID id = ImHashStr(part, 0, ImHashData(&number, sizeof number, list));
        const ImGuiWindow* window = find_window("##train_scroll");
        for (float y = window->Pos.y + 4; y < window->Pos.y + 260; y += 8)
            for (float x = window->Pos.x + 6; x < window->Pos.x + window->Size.x; x += 10) {
                move_mouse(x, y);
                frames(2, ui_frame);
                if (ImGui::GetCurrentContext()->HoveredIdPreviousFrame == id) return click_at({x, y});
            }
        ADD_FAILURE() << part << " of run " << number << " is not on screen";
    };
    in_row(2, "##rename");
    hold_modifiers(true, false);
    press('A', ui_frame);
    hold_modifiers(false, false);
    type("warm", ui_frame);
    press(Key::Enter, ui_frame);
    ASSERT_TRUE(becomes([&] { return !run().kept.empty() && run().kept.back().name == "warm"; }));
    with_context([&](PanelContext& context) {
        EXPECT_EQ(names_of_runs(context), run_names(session->training().runs));
        EXPECT_EQ(names_of_runs(context)[1], "warm");
        view.train.names.names[0] = "as it was";
        EXPECT_EQ(names_of_runs(context)[0], "as it was") << "made anew only for a new status";
        view.train.names = {};
    });
    in_row(1, "##eye");
    EXPECT_LE(axis_end(), 200) << "the axis fits the runs that are shown";
    EXPECT_LE(clicks, 8);
    // The legend, in which the names stand, is above the curves.
    const auto entry = [&] {
        const std::uint32_t number = 2;
        const ImGuiWindow* window = find_window("##loss");
        const ImGuiID id = ImHashStr("##legend", 0, ImHashData(&number, sizeof number, window->ID)),
                      plot = ImHashStr("##plot", 0, window->ID);
        float lowest_entry = 0, highest_plot = 1e9F;
        for (float y = window->Pos.y + 2; y < window->Pos.y + window->Size.y; y += 3)
            for (float x = window->Pos.x + 6; x < window->Pos.x + window->Size.x; x += 24) {
                move_mouse(x, y);
                frame(ui_frame);
                const ImGuiID hovered = ImGui::GetCurrentContext()->HoveredIdPreviousFrame;
                if (hovered == id) lowest_entry = std::max(lowest_entry, y);
                if (hovered == plot) highest_plot = std::min(highest_plot, y);
            }
        return std::pair(lowest_entry, highest_plot);
    }();
    EXPECT_GT(entry.first, 0);
    EXPECT_LT(entry.first, entry.second);
}

TEST_F(TrainTrial, BranchFromAnEarlierStepWithAnotherRate) {
    press_control("##top", {"Train", "tab"});
    set_small_run(TaskKind::Repeat, 600, 50);
    press(Key::Space, ui_frame);
    ASSERT_TRUE(becomes([&] { return finished() && session->snapshot()->trained_step == 600; }));
    clicks = 0;
    const auto slider = look_for("##history", {"##moment"});
    ASSERT_TRUE(slider.has_value());
    const ImGuiWindow* history = find_window("##history");
    const ImGuiID moment = ImHashStr("##moment", 0, history->ID);
    float first = 1e9F, last = 0;
    for (float x = history->Pos.x; x < history->Pos.x + history->Size.x; x += 2) {
        move_mouse(x, slider->y);
        frame(ui_frame);
        if (ImGui::GetCurrentContext()->HoveredIdPreviousFrame != moment) continue;
        first = std::min(first, x);
        last = std::max(last, x);
    }
    click_at({first + 8 + (last - first - 16) * 400 / 600, slider->y});
    ASSERT_TRUE(session->document().trained->step.has_value());
    EXPECT_NEAR(static_cast<double>(*session->document().trained->step), 400, 20);
    const std::int64_t step = 400;
    while (*session->document().trained->step != step) press(*session->document().trained->step < step ? Key::Right : Key::Left, ui_frame);
    ASSERT_TRUE(becomes([&] { return session->snapshot()->trained_step == step; }));
    press_control("##history", {"Branch"});
    ASSERT_TRUE(becomes([&] { return run().run == 2 && session->snapshot()->trained_step == step; }));
    EXPECT_EQ(run().step, step);
    EXPECT_EQ(curves().origin, (RunOrigin{1, step}));
    const auto rate = look_for("##train_scroll", {"learning rate", "track"});
    ASSERT_TRUE(rate.has_value());
    hold_modifiers(true, false);
    click_at(*rate);
    hold_modifiers(false, false);
    type("0.001", ui_frame);
    press(Key::Enter, ui_frame);
    ASSERT_TRUE(becomes([&] { return run().settings.train.schedule.rate == 1e-3; }));
    press_control("##run", {"Start##start"});
    EXPECT_LE(clicks, 4);
    ASSERT_TRUE(becomes([&] { return finished(); }));
    ASSERT_EQ(session->training().runs.size(), 2U);
    EXPECT_EQ(session->training().runs[0].losses.size(), 600U) << "the run before stays";
    EXPECT_EQ(curves().losses.front().step, step + 1);
    EXPECT_EQ(curves().validations.front().step, step) << "and begins where it branched off";
    ASSERT_EQ(curves().changes.size(), 1U);
    EXPECT_EQ(curves().changes[0].step, step);
    EXPECT_EQ(curves().losses.back().learning_rate, learning_rate(run().settings.train.schedule, 599));
    for (const char* plot : {"##loss", "##rate"}) {
        const std::uint32_t number = 1;
        const ImGuiWindow* window = find_window(plot);
        const ImGuiID id = ImHashStr("##mark", 0, ImHashData(&number, sizeof number, window->ID));
        bool marked = false;
        for (float y = window->Pos.y + 20; y < window->Pos.y + 130 && !marked; y += 4)
            for (float x = window->Pos.x + 40; x < window->Pos.x + window->Size.x && !marked; x += 4) {
                move_mouse(x, y);
                frame(ui_frame);
                marked = ImGui::GetCurrentContext()->HoveredIdPreviousFrame == id;
            }
        EXPECT_TRUE(marked) << plot;
    }
    const auto is_of_rate = [](const FocusStop& stop) { return stop.label == "##mark" && stop.window.find("##rate") != std::string::npos; };
    const std::vector<FocusStop>& stops = view.focus.stops();
    const auto mark = std::find_if(stops.begin(), stops.end(), is_of_rate);
    ASSERT_NE(mark, stops.end());
    EXPECT_GE(mark->top, find_window("##rate")->DC.CursorStartPos.y + font_size(theme.fonts.strong)) << "below the title";
}

TEST_F(TrainTrial, TheStepWithTheLowestLossBesideTheLast) {
    press_control("##top", {"Train", "tab"});
    RunSettings settings = small_run(160);
    settings.train.schedule = {.rate = 0.3};  // so large that the loss rises again
    apply(*session, command::SetRun{settings});
    press(Key::Space, ui_frame);
    ASSERT_TRUE(becomes([&] { return finished() && session->snapshot()->trained_step == 160; }));
    const auto& points = curves().validations;
    const auto is_lower = [](const ValidationPoint& a, const ValidationPoint& b) { return a.loss < b.loss; };
    const std::int64_t best = std::min_element(points.begin(), points.end(), is_lower)->step;
    ASSERT_LT(best, 160);
    clicks = 0;
    press_control("##loss", {"##lowest"}, 8, 5);
    ASSERT_TRUE(becomes([&] { return session->snapshot()->trained_step == best; })) << "exactly this step is kept";
    type("a", ui_frame);
    press(Key::End, ui_frame);
    ASSERT_TRUE(becomes([&] { return session->snapshot()->trained_step == 160; }));
    type("b", ui_frame);
    ASSERT_TRUE(becomes([&] { return session->states().pinned_b != nullptr; }));
    EXPECT_EQ(moment_of(*session->states().pinned_a)->step, best);
    EXPECT_EQ(moment_of(*session->states().pinned_b)->step, 160);
    EXPECT_TRUE(becomes([&] { return view.train.predicted.words != nullptr && view.train.predicted.pinned != nullptr; }))
        << "the chances of both steps stand beside each other";
    EXPECT_EQ(clicks, 1);
}

fs::path restored_folder() { return fs::path(std::getenv("ATTN_TRIAL_FOLDER")); }

/// Run by the trial below in a process of its own, which is killed.
TEST(TrainTrialChild, DISABLED_TrainsUntilItIsKilled) {
    Session session(open_preset("stories"), [] {});
    Autosave autosave(restored_folder() / "autosave", 1ms);
    session.hand_runs_over_to([&](const HandedRun& run) { autosave.keep_run(run); });
    const auto keep = [&] {
        session.update();
        autosave.keep_document(session.shared_document(), session.files().document, session.files().unsaved);
    };
    train(session, small_run(40));
    apply(session, command::RenameRun{1, "first try"});
    apply(session, command::SetRun{small_run(1'000'000)});
    apply(session, command::RestartTraining{});
    // Longer than the pause between two autosaves of a run under way.
    const auto end = std::chrono::steady_clock::now() + kHandOverPause + 2s;
    while (session.training().status->step < 50 || std::chrono::steady_clock::now() < end) {
        keep();
        std::this_thread::sleep_for(5ms);
    }
    autosave.flush();
    std::ofstream(restored_folder() / "ready") << "now";
    while (true) keep();
}

TEST_F(TrainTrial, AfterACrashAllRunsAreThere) {
    const TemporaryFolder folder;
    ::setenv("ATTN_TRIAL_FOLDER", folder.path().c_str(), 1);
    std::string program = fs::read_symlink("/proc/self/exe").string(), filter = "--gtest_filter=TrainTrialChild.*",
                disabled = "--gtest_also_run_disabled_tests";
    char* arguments[] = {program.data(), filter.data(), disabled.data(), nullptr};
    pid_t child = 0;
    ASSERT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
    for (int i = 0; i < 6000 && !fs::exists(folder / "ready"); ++i) std::this_thread::sleep_for(10ms);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(fs::exists(folder / "ready"));

    std::vector<AutosaveFolder> left = AutosaveFolder::leftovers(folder / "autosave");
    ASSERT_EQ(left.size(), 1U);
    leftover = &left.front().words();
    frames(3, ui_frame);
    press_control("##restore_sheet", {"Restore"});
    ASSERT_EQ(view.files.restore, RestoreAnswer::Restore);
    leftover = nullptr;  // as the window does
    view.files.restore = RestoreAnswer::None;
    apply(*session, command::RestoreWork{left.front().path()});
    ASSERT_TRUE(becomes([&] { return session->files().restored; }));
    EXPECT_NE(session->files().notice.find("Restored"), std::string::npos) << session->files().notice;
    ASSERT_TRUE(becomes([&] { return session->training().runs.size() == 2; }));
    const RunCurves& first = session->training().runs[0];
    EXPECT_EQ(first.name, "first try");
    EXPECT_EQ(first.losses.size(), 40U);
    ASSERT_EQ(run().kept.size(), 1U);
    EXPECT_GT(run().kept[0].moments, 2U);
    EXPECT_GT(run().step, 10);
    EXPECT_EQ(static_cast<std::int64_t>(curves().losses.size()), run().step);
    EXPECT_GT(run().moments.size(), 2U);
    EXPECT_LE(clicks, 1);
}

}  // namespace
}  // namespace attn::app::test
