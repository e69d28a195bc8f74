/// The desktop's file dialog instead of our sheets: its requests, the effects of its answers, and the way back.

#include <gtest/gtest.h>

#include "app/panels/files/desktop_sheet.hpp"
#include "app/panels/files/files.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "tests/support/interface_fixture.hpp"

namespace attn::app::test {
namespace {

using What = DesktopQuestion::What;

class DesktopDialogTest : public InterfaceFixture {
protected:
    DesktopDialogTest() {
        carry_out = false;
        session = std::make_unique<Session>(open_preset("causal-attention"), [] {});
        session->wait();
        files.recent = {"/data/old/run.safetensors"};
        frames(3, ui_frame);
        desktop().there = desktop().preferred = true;
    }
    DesktopDialog& desktop() { return view.files.desktop; }
    void answer(DesktopAnswer given) {
        desktop().question.reset();
        desktop().answer = std::move(given);
        frames(2, ui_frame);
    }
    void chosen(const char* path) { answer({DesktopAnswer::Outcome::Chosen, path, ""}); }
};

TEST_F(DesktopDialogTest, IsAskedFirstOnlyWhereItIsWantedAndThere) {
    for (const bool wanted : {false, true})
        for (const bool there : {false, true}) {
            desktop().preferred = wanted;
            desktop().there = there;
            control('O');
            EXPECT_EQ(desktop().waiting, wanted && there);
            EXPECT_EQ(desktop().question.has_value(), wanted && there);
            press(Key::Escape, ui_frame);
            EXPECT_EQ(view.files.task, FileTask::None);
            EXPECT_FALSE(desktop().waiting);
        }
}

TEST_F(DesktopDialogTest, IsTheOnlyOneWhereFilesAreNotListed) {
    abilities.lists_files = false;
    desktop().preferred = false;
    const auto asks = [&](void (*begin)(PanelContext&), What what, const std::string& name) {
        with_context(begin);
        frames(2, ui_frame);
        ASSERT_TRUE(desktop().question);
        EXPECT_EQ(desktop().question->what, what);
        EXPECT_EQ(desktop().question->name, name);
        answer({DesktopAnswer::Outcome::Cancelled, "", ""});
        EXPECT_EQ(view.files.task, FileTask::None) << "there is no other one";
    };
    asks(begin_open, What::OpenFile, "");
    asks(begin_open_model, What::OpenFile, "");
    asks(begin_open_run, What::OpenFolder, "");
    asks(begin_tokenizer, What::OpenFile, "");
    asks([](PanelContext& context) { begin_save(context, false); }, What::SaveFile, "causal-attention.attnscope.json");
    abilities.writes_folders = false;
    with_context([](PanelContext& context) { begin_save_run(context, 1); });
    EXPECT_FALSE(desktop().question);
    ASSERT_EQ(all<command::TellFile>().size(), 1U);
    EXPECT_EQ(all<command::TellFile>()[0].notice, kNoFolders);
}

TEST_F(DesktopDialogTest, OpensWhatWasChosen) {
    view.files.filter = FileFilter::Documents;
    control('O');
    ASSERT_TRUE(desktop().question);
    EXPECT_EQ(desktop().question->what, What::OpenFile);
    EXPECT_EQ(desktop().question->folder, "/data/old/");
    ASSERT_EQ(desktop().question->filters.size(), 5U);
    EXPECT_EQ(desktop().question->filters[desktop().question->filter].patterns, std::vector<std::string>{"*.json"});
    chosen("/x/\xC3\xBC ber");
    ASSERT_EQ(all<command::OpenFile>().size(), 1U);
    EXPECT_EQ(all<command::OpenFile>()[0].path, "/x/\xC3\xBC ber");
    EXPECT_EQ(view.files.task, FileTask::None);
    EXPECT_FALSE(desktop().waiting);
}

TEST_F(DesktopDialogTest, SavesWhereItWasSaidAndAsksAboutAnotherName) {
    control('S');
    ASSERT_TRUE(desktop().question);
    EXPECT_EQ(desktop().question->what, What::SaveFile);
    EXPECT_EQ(desktop().question->name, "causal-attention.attnscope.json");
    chosen("/x/mine.json");
    ASSERT_EQ(all<command::SaveDocument>().size(), 1U);
    EXPECT_EQ(all<command::SaveDocument>()[0].path, "/x/mine.json");

    control('S');
    chosen("/x/mine");
    EXPECT_EQ(all<command::SaveDocument>().size(), 1U) << "nobody was asked whether mine.attnscope.json may be replaced";
    EXPECT_EQ(view.files.task, FileTask::Save);
    EXPECT_EQ(view.files.path.text, "/x/mine.attnscope.json");
}

TEST_F(DesktopDialogTest, AnExportGoesOnInOurSheet) {
    control('E');
    EXPECT_FALSE(desktop().waiting) << "there is more to choose than a path";
    with_context([](PanelContext& context) { ask_desktop(context, What::SaveFile); });
    chosen("/x/map.svg");
    EXPECT_EQ(view.files.task, FileTask::Export);
    EXPECT_EQ(view.files.format, ExportAs::Svg);
    EXPECT_EQ(view.files.path.text, "/x/map.svg");
    EXPECT_FALSE(view.files.picture);
    press(Key::Enter, ui_frame);
    ASSERT_TRUE(view.files.picture);
    EXPECT_EQ(view.files.picture->path, "/x/map.svg");
}

TEST_F(DesktopDialogTest, CancellingEndsItOrLeadsBackToOurSheet) {
    control('O');
    answer({DesktopAnswer::Outcome::Cancelled, "", ""});
    EXPECT_EQ(view.files.task, FileTask::None);
    desktop().preferred = false;
    control('O');
    with_context([](PanelContext& context) { ask_desktop(context, What::OpenFile); });
    EXPECT_TRUE(desktop().waiting);
    answer({DesktopAnswer::Outcome::Cancelled, "", ""});
    EXPECT_EQ(view.files.task, FileTask::Open);
    EXPECT_FALSE(desktop().waiting);
    EXPECT_TRUE(all<command::OpenFile>().empty());
}

TEST_F(DesktopDialogTest, OursTakesItsPlaceWhereItFailsAndSaysWhy) {
    control('O');
    answer({DesktopAnswer::Outcome::Failed, "", "it does not answer"});
    EXPECT_EQ(view.files.task, FileTask::Open);
    EXPECT_FALSE(desktop().waiting);
    EXPECT_EQ(desktop().problem, "The desktop's dialog could not be used: it does not answer.");
    press(Key::Escape, ui_frame);
    control('O');
    EXPECT_TRUE(desktop().problem.empty()) << "that was then";
}

TEST_F(DesktopDialogTest, ALateAnswerDoesNothing) {
    control('O');
    press(Key::Escape, ui_frame);
    chosen("/x/late");
    EXPECT_TRUE(all<command::OpenFile>().empty());
    control('S');
    EXPECT_TRUE(all<command::SaveDocument>().empty()) << "an answer to another question";
}

}  // namespace
}  // namespace attn::app::test
