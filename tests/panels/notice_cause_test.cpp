/// An error's notice goes with its cause, and paths are typed or chosen in every field for one.

#include <cstdlib>
#include <fstream>

#include "app/panels/files/files.hpp"
#include "app/session/document/presets.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app::test {
namespace {

void write_text(const std::filesystem::path& path, const char* text) { std::ofstream(path) << text; }

class NoticeCause : public InterfaceFixture {
protected:
    NoticeCause() {
        session = std::make_unique<Session>(open_preset("causal-attention"), [] {});
        session->wait();
        frames(3, ui_frame);
    }
    void draw() override {
        session->update();
        files = session->files();
        InterfaceFixture::draw();
    }
    void settle() {
        session->wait_for_files();
        session->wait_for_training();
        frames(3, ui_frame);
    }
    bool is_shown() {
        bool shown = false;
        with_context([&](const PanelContext& context) { shown = context.view.files.notices.shows_error(); });
        return shown;
    }
    void refuse(command::TellFile told) {
        session->apply({std::move(told), ""});
        frames(2, ui_frame);
        ASSERT_TRUE(is_shown());
    }
    /// Clicks a control found by its ids.
    void click_on(const char* window, std::initializer_list<const char*> path) {
        const auto at = find_item(window, path, [&](float x, float y) {
            move_mouse(x, y);
            frames(1, ui_frame);
        });
        ASSERT_TRUE(at.has_value());
        click(at->x, at->y, ui_frame);
        frames(3, ui_frame);
    }
    const TemporaryFolder folder_;
};

TEST_F(NoticeCause, OfAFileThatCannotBeReadIsTheNextFileTried) {
    session->apply({command::OpenTrainingText{"/nowhere/text.txt"}, ""});
    settle();
    ASSERT_TRUE(is_shown());
    now += 100;
    frames(2, ui_frame);
    EXPECT_TRUE(is_shown()) << "time alone mends nothing";
    const std::filesystem::path text = folder_ / "text.txt";
    write_text(text, "a text\n");
    session->apply({command::OpenTrainingText{text}, ""});
    settle();
    EXPECT_FALSE(is_shown()) << "although that says nothing itself";
}

TEST_F(NoticeCause, OfAFileIsThePathThatIsTyped) {
    refuse({"/nowhere: there is no such file", true});
    control('O');
    EXPECT_FALSE(is_shown()) << "another is being chosen";
    refuse({"/nowhere: there is no such file", true});
    type("/", ui_frame);
    frames(3, ui_frame);
    EXPECT_FALSE(is_shown());
}

TEST_F(NoticeCause, OfATextIsTheDocument) {
    refuse({"Too long", true, NoticeOf::Document});
    type("c", ui_frame);  // the causal mask
    frames(3, ui_frame);
    EXPECT_FALSE(is_shown());
}

TEST_F(NoticeCause, OfACopyIsWhatIsLookedAt) {
    view.stage = {Stage::Scores, 0};
    refuse({"The map is too large to be copied", true, NoticeOf::View});
    session->apply({command::EndNotice{NoticeOf::File}, ""});
    frames(2, ui_frame);
    EXPECT_TRUE(is_shown()) << "it is about something else";
    view.stage = {Stage::Weights, 0};
    frames(2, ui_frame);
    EXPECT_FALSE(is_shown());
}

TEST_F(NoticeCause, OfAnAutosaveIsTheNextOneThatSucceeds) {
    refuse({"Autosave failed: the disk is full", true, NoticeOf::Autosave});
    type("c", ui_frame);
    frames(3, ui_frame);
    EXPECT_TRUE(is_shown());
    session->apply({command::EndNotice{NoticeOf::Autosave}, ""});
    frames(2, ui_frame);
    EXPECT_FALSE(is_shown());
}

/// HOME during the lifetime.
class Home {
public:
    explicit Home(const std::filesystem::path& folder) : before_(std::getenv("HOME") == nullptr ? "" : std::getenv("HOME")) {
        ::setenv("HOME", folder.c_str(), 1);
    }
    ~Home() { ::setenv("HOME", before_.c_str(), 1); }
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;

private:
    std::string before_;
};

TEST_F(NoticeCause, EveryFieldForAPathKnowsTheHomeFolder) {
    const Home home(folder_.path());
    view.view = View::Doctor;
    view.doctor.path = "~/dump.npz";
    frames(3, ui_frame);
    click_on("##centre", {"examine"});
    ASSERT_EQ(all<command::OpenDump>().size(), 1U);
    EXPECT_EQ(all<command::OpenDump>()[0].path, folder_ / "dump.npz");

    view.view = View::Train;
    RunSettings run = session->document().run;
    run.task.kind = TaskKind::Text;
    session->apply({command::SetRun{run}, ""});
    view.train.text_path = "~/text.txt";
    frames(3, ui_frame);
    with_context([](PanelContext& context) { load_training_text(context, context.view.train.text_path); });
    ASSERT_EQ(all<command::OpenTrainingText>().size(), 1U);
    EXPECT_EQ(all<command::OpenTrainingText>()[0].path, folder_ / "text.txt");
}

TEST_F(NoticeCause, EveryFieldForAPathHasAButtonThatListsFiles) {
    write_text(folder_ / "mine.npz", "x");
    view.view = View::Doctor;
    view.doctor.path = (folder_ / "other.npz").string();
    frames(3, ui_frame);
    click_on("##centre", {"Choose a file##dump"});
    EXPECT_EQ(view.files.task, FileTask::Dump);
    EXPECT_EQ(view.files.path.text, folder_.path().string() + "/") << "it begins where the typed path is";
    settle();
    type("mine.npz", ui_frame);
    settle();
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::None);
    EXPECT_EQ(view.doctor.path, folder_ / "mine.npz");
    ASSERT_EQ(all<command::OpenDump>().size(), 1U);
    EXPECT_EQ(all<command::OpenDump>()[0].path, folder_ / "mine.npz");
}

/// In every view there is a line for it, where it covers nothing that can be used.
TEST_F(NoticeCause, ANoticeCoversNoControlOfAnyView) {
    for (const ImVec2 size : {ImVec2(1600, 1000), ImVec2(1280, 720)}) {
        ImGui::GetIO().DisplaySize = size;
        for (const ViewInfo& info : views()) {
            view.view = info.view;
            session->wait();
            frames(4, ui_frame);
            refuse({"Saved step 1000 in /home/someone/repeat-run.", true});
            frames(2, ui_frame);
            const ImGuiWindow* const notice = find_window("##notice");
            ASSERT_NE(notice, nullptr) << info.name;
            EXPECT_TRUE(ImRect({0, 0}, size).Contains(notice->Rect())) << info.name;
            ImRect covered = notice->Rect();
            covered.Expand(-2);  // the letters of tests are higher than ours
            for (const FocusStop& stop : view.focus.stops()) {
                const bool below = stop.reachable && stop.window.find("notice") == std::string::npos;
                EXPECT_FALSE(below && covered.Overlaps({{stop.left, stop.top}, {stop.right, stop.bottom}}))
                    << info.name << " at " << size.x << ": over " << stop.label << " in " << stop.window;
            }
        }
    }
}

}  // namespace
}  // namespace attn::app::test
