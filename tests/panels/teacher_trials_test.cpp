/// What a teacher and an engineer do, step by step, with simulated mouse and keyboard: what they see, and how many clicks it takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/views/dump_findings.hpp"
#include "app/panels/views/look_at_line.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/weights_origin.hpp"
#include "app/session/lessons/lesson.hpp"
#include "app/session/session.hpp"
#include "engine/io/input_file.hpp"
#include "engine/trace/trace_file.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app::test {
namespace {

using testing::HasSubstr;

class TeacherTrial : public InterfaceFixture {
protected:
    TeacherTrial() {
#if IMGUI_VERSION_NUM < 18700
        ImGui::GetIO().KeyMap[ImGuiKey_A] = 'A';
#endif
        ImGui::GetIO().DisplaySize = {1600, 1000};
        open_example("stories");
        turn_to(view, opening_look(find_preset("stories"), 0));
        frames(4, ui_frame);
    }
    /// The outcome of file operations is there in the next frame, as in the window.
    void draw() override {
        session->wait_for_files();
        files = session->files();
        if (files.openings != openings_ && files.opened == FileKind::Dump) {
            session->wait_for_dump();
            view.view = View::Doctor;
        }
        openings_ = files.openings;
        InterfaceFixture::draw();
    }
    std::optional<ImVec2> find(std::string_view window, std::initializer_list<const char*> path) {
        return find_item(window, path, [this](float x, float y) {
            move_mouse(x, y);
            frames(2, ui_frame);  // what was hovered in the frame before is here, too
        });
    }
    /// Clicks a control; fails if it is not in sight.
    ImVec2 press_item(std::string_view window, std::initializer_list<const char*> path) {
        const std::optional<ImVec2> place = find(window, path);
        EXPECT_TRUE(place) << *(path.end() - 1) << " is not in sight";
        if (place) press_at(*place);
        return place.value_or(ImVec2{0, 0});
    }
    /// The place of a control of the previous frame, counted from 0 among those with this label.
    std::optional<ImVec2> find_labelled(std::string_view window_part, std::string_view label, std::size_t which = 0) {
        frames(2, ui_frame);
        const auto& stops = view.focus.stops();
        const auto stop =
            std::find_if(stops.begin(), stops.end(), [&](const FocusStop& one) { return one.label == label && which-- == 0; });
        const ImGuiWindow* window = find_window(window_part);
        if (stop == stops.end() || window == nullptr) return std::nullopt;
        const ImGuiID id = stop->id;
        const float y = (stop->top + stop->bottom) / 2;
        for (float x = window->ClipRect.Min.x + 4; x < window->ClipRect.Max.x; x += 16) {
            move_mouse(x, y);
            frame(ui_frame);
            if (ImGui::GetCurrentContext()->HoveredIdPreviousFrame == id) return ImVec2(x, y);
        }
        return std::nullopt;
    }
    bool is_listed(std::string_view label) {
        frames(2, ui_frame);
        const auto& stops = view.focus.stops();
        return std::any_of(stops.begin(), stops.end(), [&](const FocusStop& one) { return one.label == label; });
    }
    /// Every control lies in the window, and inside of its pane if that does not scroll.
    void expect_nothing_cut() {
        frames(2, ui_frame);
        const ImVec2 display = ImGui::GetIO().DisplaySize;
        for (const FocusStop& stop : view.focus.stops()) {
            const ImGuiWindow* const pane = ImGui::FindWindowByName(stop.window.c_str());
            ASSERT_NE(pane, nullptr) << stop.window;
            if (pane->ScrollMax.x > 0 || pane->ScrollMax.y > 0) continue;
            const bool whole =
                stop.left >= std::max(pane->Pos.x, 0.F) - 1 && stop.right <= std::min(pane->Pos.x + pane->Size.x, display.x) + 1 &&
                stop.top >= std::max(pane->Pos.y, 0.F) - 1 && stop.bottom <= std::min(pane->Pos.y + pane->Size.y, display.y) + 1;
            EXPECT_TRUE(whole) << stop.label << " in " << stop.window << " at " << stop.left << ", " << stop.top << " to " << stop.right
                               << ", " << stop.bottom;
        }
    }
    void press_at(ImVec2 at) {
        ++clicks;
        click(at.x, at.y, ui_frame);
        frames(5, ui_frame);
    }
    /// In place of what the field holds, which has the keyboard.
    void type_path(const std::filesystem::path& path) {
        frames(2, ui_frame);
        control('A');
        type(path.string(), ui_frame);
        frames(4, ui_frame);
    }
    /// Ctrl + K, the words, Enter.
    void command_by_name(std::string_view words) {
        control('K');
        type(words, ui_frame);
        frames(2, ui_frame);
        press(Key::Enter, ui_frame);
        frames(6, ui_frame);
    }
    void enter() {
        press(Key::Enter, ui_frame);
        frames(6, ui_frame);
    }

    int clicks = 0;
    const attn::test::TemporaryFolder folder;

private:
    std::uint64_t openings_ = 0;
};

/// Ten steps, the pointer always on the same button, questions unanswered; afterwards the window as before.
TEST_F(TeacherTrial, T1GiveALesson) {
    const Document before = session->document();
    const Look look = look_of(view);
    press_item("##top", {"##lessons", "button"});
    press_item("##Popup", {"Masks", "item"});
    ASSERT_TRUE(view.lesson.open());
    ASSERT_EQ(view.lesson.lesson->steps.size(), 10U);
    const std::optional<ImVec2> next = find("##lesson", {"Next##lesson_next"});
    ASSERT_TRUE(next);
    for (std::size_t step = 1; step < 10; ++step) {
        press_at(*next);
        EXPECT_EQ(view.lesson.step, step) << "the pointer is no longer on Next";
    }
    EXPECT_EQ(clicks, 11);
    press(Key::Escape, ui_frame);
    frames(6, ui_frame);
    EXPECT_FALSE(view.lesson.open());
    EXPECT_EQ(session->document(), before);
    EXPECT_EQ(look_of(view), look);
}

TEST_F(TeacherTrial, T2ProjectIt) {
    ImGui::GetIO().DisplaySize = {1280, 720};
    for (int i = 0; i < 3; ++i) control('+');
    EXPECT_GT(view.ui_zoom, 1.2);
    theme.scale = static_cast<float>(view.ui_zoom);  // as the window does
    press(Key::F11, ui_frame);
    frames(3, ui_frame);
    EXPECT_TRUE(view.panes.only_centre);
    EXPECT_TRUE(find("##attnscope", {"all panes (Esc)"})) << "the way back is in sight";
    expect_nothing_cut();
    type("c", ui_frame);
    frames(3, ui_frame);
    EXPECT_FALSE(session->document().forward.masks.causal);
    with_context([](PanelContext& context) { EXPECT_THAT(eye_sentence(context), HasSubstr("no next one to predict")); });
    EXPECT_FALSE(is_listed("##look_at")) << "the sentence is whole: there is no tooltip with the rest of it";
    expect_nothing_cut();
    press(Key::Escape, ui_frame);
    frames(3, ui_frame);
    EXPECT_FALSE(view.panes.only_centre);
    expect_nothing_cut();
    EXPECT_EQ(clicks, 0);
}

TEST_F(TeacherTrial, T3MakeAStep) {
    view.stage = {Stage::Weights, 0};
    view.head = 0;
    view.locked.set(Axis::T, 11);
    view.locked.set(Axis::S, 6);
    frames(3, ui_frame);
    const Look first = look_of(view);
    command_by_name("make lesson");
    ASSERT_EQ(view.files.task, FileTask::LessonStep);
    type("The full stop", ui_frame);
    press(Key::Tab, ui_frame);
    type("It looks back at {token[6]}.", ui_frame);
    press(Key::Tab, ui_frame);
    type_path(folder.path() / "my-lesson.json");
    EXPECT_EQ(view.files.lesson_step.title, "The full stop");
    EXPECT_EQ(view.files.lesson_step.caption, "It looks back at {token[6]}.");
    enter();
    EXPECT_EQ(view.files.task, FileTask::None) << session->files().notice;
    press(Key::Right, ui_frame);
    type("c", ui_frame);
    frames(3, ui_frame);
    const Look second = look_of(view);
    const Document shown = session->document();
    command_by_name("make lesson");
    EXPECT_EQ(view.files.path.text, folder.path() / "my-lesson.json") << "the lesson that is being made goes on";
    enter();
    EXPECT_LE(clicks, 4);
    const auto made = find_lesson(folder.path() / "my-lesson.json");
    ASSERT_EQ(made->steps.size(), 2U);
    EXPECT_EQ(made->steps[0].title, "The full stop");
    type("c", ui_frame);
    press_item("##top", {"##lessons", "button"});
    press_item("##Popup", {"My lesson", "item"});
    ASSERT_TRUE(view.lesson.open());
    EXPECT_EQ(look_of(view), first);
    EXPECT_TRUE(session->document().forward.masks.causal);
    press(Key::Right, ui_frame);
    frames(4, ui_frame);
    EXPECT_EQ(look_of(view), second);
    EXPECT_EQ(session->document().forward, shown.forward);
    EXPECT_EQ(session->document().texts, shown.texts);
    EXPECT_LE(clicks, 4);
}

/// What is wrong with a sentence is said where it is typed, at once; what is found out later, at the foot of the sheet.
TEST_F(TeacherTrial, AStepThatCannotBeMadeKeepsWhatWasTyped) {
    command_by_name("make lesson");
    const auto reds = [&] {
        frames(3, ui_frame);
        const auto& drawn = find_window("##lesson_step_sheet")->DrawList->VtxBuffer;
        return std::count_if(drawn.begin(), drawn.end(), [&](const ImDrawVert& corner) { return corner.col == theme.colors.bad; });
    };
    const auto height = [] { return find_window("##lesson_step_sheet")->Size.y; };
    press(Key::Tab, ui_frame);
    press(Key::Tab, ui_frame);
    type_path(folder.path() / "my-lesson.json");
    press(Key::Tab, ui_frame);
    press(Key::Tab, ui_frame);
    type("The weight is {weights[0,0}.", ui_frame);
    EXPECT_GT(reds(), 100) << "a frame and a line";
    const float before = height();
    enter();
    EXPECT_EQ(view.files.task, FileTask::LessonStep);
    EXPECT_TRUE(all<command::MakeLessonStep>().empty());
    EXPECT_EQ(view.files.lesson_step.caption, "The weight is {weights[0,0}.");
    control('A');
    type("The weight is {weights[0,0,99,0]}.", ui_frame);
    EXPECT_EQ(reds(), 0);
    EXPECT_EQ(height(), before) << "nothing moves";
    enter();
    EXPECT_EQ(view.files.task, FileTask::LessonStep);
    EXPECT_TRUE(session->files().failed);
    EXPECT_GT(reds(), 0);
    EXPECT_GT(height(), before) << "inside of the sheet";
    EXPECT_EQ(find_window("##notice"), nullptr) << "not behind it";
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "my-lesson.json"));
}

TEST_F(TeacherTrial, T4FigureAndPage) {
    control('E');
    ASSERT_EQ(view.files.task, FileTask::Export);
    const ImVec2 place = press_item("##file_sheet", {"Export##do"});
    ASSERT_TRUE(view.files.picture);
    EXPECT_EQ(view.files.picture->path.extension(), ".png");
    EXPECT_FALSE(view.files.picture->whole_window);
    control('E');
    for (const ExportAs format :
         {ExportAs::Png, ExportAs::Svg, ExportAs::Csv, ExportAs::Npy, ExportAs::Trace, ExportAs::Operands, ExportAs::Page}) {
        view.files.format = format;
        move_mouse(place.x, place.y);
        frames(4, ui_frame);
        const ImGuiID id = ImHashStr("Export##do", 0, find_window("##file_sheet")->ID);
        EXPECT_EQ(ImGui::GetCurrentContext()->HoveredId, id) << "Export has moved for " << ending_of(format);
    }
    press(Key::Escape, ui_frame);
    open_lesson(view, session->document(), find_lesson("masks"), 0);
    frames(5, ui_frame);
    command_by_name("html");
    ASSERT_EQ(view.files.task, FileTask::Export);
    ASSERT_EQ(view.files.format, ExportAs::Page);
    type_path(folder.path() / "masks.html");
    press_item("##file_sheet", {"Export##do"});
    EXPECT_LE(clicks, 5);
    session->wait_for_files();
    ASSERT_TRUE(std::filesystem::exists(folder.path() / "masks.html")) << session->files().notice;
    const std::string page = read_whole_file(folder.path() / "masks.html", {.max_bytes = 1 << 26, .stop = {}});
    EXPECT_THAT(page, HasSubstr("<svg viewBox"));
    EXPECT_THAT(page, HasSubstr("Show the answer"));
    EXPECT_THAT(page, HasSubstr("<b class=\"q\">"));
    for (const char* outside : {"http:", "https:", "<script", "src="}) EXPECT_EQ(page.find(outside), std::string::npos) << outside;
}

TEST_F(TeacherTrial, T5Dropout) {
    command_by_name("dropout");
    frames(4, ui_frame);
    EXPECT_TRUE(view.focus.visible()) << "the field is framed";
    const View shown = view.view;
    for (const char* typed : {"0", ".", "3"}) type(typed, ui_frame);
    frames(3, ui_frame);
    enter();
    EXPECT_NEAR(session->document().forward.dropout.attention, 0.3, 1e-6);
    EXPECT_EQ(view.view, shown) << "digits are no shortcuts";
    EXPECT_TRUE(view.panes.strip);
    press(Key::Escape, ui_frame);
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_FALSE(view.panes.left_open);
    const std::uint64_t seed = session->document().forward.dropout.seed;
    view.stage.stage = Stage::Dropped;
    frames(3, ui_frame);
    const Matrix one = map_of(view.stage, 0, view.head);
    const std::vector<float> before(one.data.values, one.data.values + one.data.rows * one.data.cols);
    type("u", ui_frame);
    frames(3, ui_frame);
    EXPECT_NE(session->document().forward.dropout.seed, seed);
    const Matrix other = map_of(view.stage, 0, view.head);
    EXPECT_NE(before, std::vector<float>(other.data.values, other.data.values + other.data.rows * other.data.cols)) << "another draw";
    press_item("##text", {"##end_dropout"});
    EXPECT_EQ(session->document().forward.dropout.attention, 0);
    EXPECT_EQ(clicks, 1);
    EXPECT_FALSE(find_labelled("##text", "##end_dropout"));
}

TEST_F(TeacherTrial, DigitsGoToTheFramedSettingAndAreNoKeys) {
    command_by_name("softmax temperature");
    frames(4, ui_frame);
    const bool left = view.panes.left;
    for (const char* typed : {"1", ".", "5"}) type(typed, ui_frame);  // 1 hides the settings elsewhere
    frames(3, ui_frame);
    enter();
    EXPECT_NEAR(session->document().forward.temperature, 1.5, 1e-6);
    EXPECT_EQ(view.panes.left, left);
}

class EngineerTrial : public TeacherTrial {
protected:
    /// What code without the scaling records.
    std::filesystem::path dump_of_wrong_code() {
        const ForwardSettings right = session->document().forward;
        ForwardSettings wrong = right;
        wrong.mistake = Mistake::NoScale;
        session->apply({command::SetForward{wrong}, ""});
        session->wait();
        const std::filesystem::path path = folder.path() / "dump.safetensors";
        TokenTexts texts;
        for (const std::int64_t length : trace().tokens.lengths) texts.emplace_back(static_cast<std::size_t>(length), "x");
        write_trace(path, trace(), texts);
        session->apply({command::SetForward{right}, ""});
        session->wait();
        return path;
    }
};

TEST_F(EngineerTrial, E1OwnModel) {
    namespace fs = std::filesystem;
    const fs::path golden = fs::path(ATTN_TEST_DATA) / "golden/hf", model = folder / "gpt2";
    fs::create_directories(model);
    fs::create_directories(folder / "work/notes");
    for (const char* file : {"config.json", "model.safetensors"}) fs::copy_file(golden / "gpt2" / file, model / file);
    fs::copy_file(golden / "tokenizers/roberta/tokenizer.json", model / "tokenizer.json");
    session->set_recent_files({(folder / "work/notes/text.txt").string()}, {});
    press_item("##top", {"##file", "button"});
    press_item("##Popup", {"Open a model…", "item"});
    press_item("##places", {(folder.path() / "work/notes/").c_str()});
    const ImVec2 up = press_item("##contents", {"##up"});
    press_at(up);
    EXPECT_EQ(view.files.path.text, folder.path().string() + "/");
    const auto& listed = view.files.path.completions;
    const auto line = static_cast<std::size_t>(std::find(listed.begin(), listed.end(), model.string() + "/") - listed.begin());
    const std::optional<ImVec2> entry = find_labelled("##contents", "##entry", line);
    ASSERT_TRUE(entry);
    press_at(*entry);
    EXPECT_EQ(view.files.path.text, model.string() + "/");
    enter();
    session->wait();
    frames(4, ui_frame);
    ASSERT_NE(session->document().model, nullptr) << session->files().notice;
    EXPECT_LE(clicks, 6);
    EXPECT_EQ(weights_origin(session->document()).text, "opened model");
    EXPECT_TRUE(find_labelled("##top", "##origin")) << "the badge";
    const std::int64_t heads = trace().config.num_heads;
    EXPECT_EQ(heads, session->document().model->config().num_heads);
    for (std::int64_t head = 0; head < heads; ++head) EXPECT_FALSE(map_of({Stage::Weights, 0}, 0, head).empty()) << head;
    type("t", ui_frame);
    frames(3, ui_frame);
    control('A');
    type("unbelievable", ui_frame);
    enter();
    EXPECT_GT(session->snapshot()->tokens[0].size(), 1U) << "one word in several pieces";
    EXPECT_LE(clicks, 6);
}

TEST_F(EngineerTrial, E3CheckMyCode) {
    const std::filesystem::path dump = dump_of_wrong_code();
    press_item("##top", {"##more", "tab"});
    press_item("##Popup", {"Check my code", "item"});
    ASSERT_EQ(view.view, View::Doctor);
    press_item("##centre", {"Choose a file##dump"});
    ASSERT_EQ(view.files.task, FileTask::Dump);
    type_path(dump);
    enter();
    session->wait_for_dump();
    frames(4, ui_frame);
    const auto report = session->dump();
    ASSERT_NE(report, nullptr);
    ASSERT_EQ(report->problem, "");
    ASSERT_FALSE(report->diagnosis.findings.empty());
    canvas.calls.clear();
    const std::optional<ImVec2> first = find_labelled("##doctor", "##finding");
    ASSERT_TRUE(first);
    press_at(*first);
    EXPECT_LE(clicks, 5);
    const doctor::Finding* finding = nullptr;
    with_context([&](PanelContext& context) {
        finding = chosen_finding(context);
        EXPECT_TRUE(is_about_dump(context));
    });
    ASSERT_NE(finding, nullptr);
    EXPECT_NE(finding->beside->recorded, finding->beside->expected);
    ASSERT_GT(finding->beside->rows, 0) << "both maps are there";
    canvas.calls.clear();
    frame(ui_frame);
    EXPECT_EQ(canvas.calls.size(), 3U) << "recorded, expected and their difference, and nothing of the shown model";
    EXPECT_EQ(find_window("##text"), nullptr);
    EXPECT_EQ(find_window("##strip"), nullptr);
    EXPECT_FALSE(view.drawn.verified) << "a badge of the model behind";
}

}  // namespace
}  // namespace attn::app::test
