/// The question before the window closes and its consequences, and the question about autosaved work.

#include <gtest/gtest.h>

#include <filesystem>

#include "app/panels/files/files.hpp"
#include "app/panels/kit/look.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app::test {
namespace {

class ClosingTest : public InterfaceFixture {
protected:
    ClosingTest() {
        carry_out = false;
        open_example("causal-attention");
    }
    void quit() {
        hold_modifiers(true, false);
        press('Q', ui_frame);
        hold_modifiers(false, false);
        frames(2, ui_frame);
    }
    Closing closing() const { return view.files.closing; }
    /// Than that of the run.
    void show_another_document() {
        apply(*session, command::OpenPreset{"causal-attention"});
        session->wait();
    }
    void put_path(const char* text) {
        view.files.path.text = text;
        view.files.path.focus = true;
        ImGui::ClearActiveID();
        frames(3, ui_frame);
    }
};

TEST_F(ClosingTest, NothingIsAskedWhenNothingWouldBeLost) {
    quit();
    EXPECT_EQ(closing(), Closing::Now);
}

TEST_F(ClosingTest, AskedOnceAndCancelled) {
    would_be_lost.document = true;
    quit();
    EXPECT_EQ(closing(), Closing::Asked);
    quit();
    EXPECT_EQ(closing(), Closing::Asked);
    type("c", ui_frame);
    EXPECT_TRUE(all<command::SetForward>().empty()) << "keys belong to the question";
    press(Key::Escape, ui_frame);
    EXPECT_EQ(closing(), Closing::No);
    EXPECT_TRUE(commands.empty());
}

TEST_F(ClosingTest, ADocumentWithAFileIsSavedAndTheWindowCloses) {
    would_be_lost.document = true;
    files.document = "/elsewhere/mine.json";
    quit();
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::SaveDocument>().size(), 1U);
    EXPECT_EQ(all<command::SaveDocument>()[0].path, files.document);
    EXPECT_EQ(all<command::SaveDocument>()[0].look, look_of(view)) << "with the place that it shows";
    view.files.closing = Closing::Saving;
    view.files.closing_part = 0;
    files.busy = true;
    frames(3, ui_frame);
    EXPECT_EQ(closing(), Closing::Saving) << "until it is written";
    files.busy = false;
    would_be_lost.document = false;
    frames(1, ui_frame);
    EXPECT_EQ(closing(), Closing::Now);
    EXPECT_EQ(all<command::SaveDocument>().size(), 1U);
}

TEST_F(ClosingTest, AFileThatCannotBeWrittenLeavesTheWindowOpen) {
    would_be_lost.document = true;
    files.document = "/elsewhere/mine.json";
    quit();
    press(Key::Enter, ui_frame);  // nobody executes the command, so the document stays unsaved
    frames(2, ui_frame);
    EXPECT_EQ(closing(), Closing::No);
}

TEST_F(ClosingTest, WhatIsSavedMeanwhileIsNotAskedAbout) {
    would_be_lost.run = true;
    quit();
    EXPECT_EQ(closing(), Closing::Asked);
    would_be_lost.run = false;
    frames(1, ui_frame);
    EXPECT_EQ(closing(), Closing::Now);
}

TEST_F(ClosingTest, ARunAsksForAFolder) {
    train(*session, small_run(2));
    show_another_document();
    would_be_lost.run = true;
    quit();
    press(Key::Enter, ui_frame);
    ASSERT_EQ(view.files.task, FileTask::SaveRun);
    put_path("/elsewhere/");
    type("r", ui_frame);
    hold(Key::Enter, true);
    frame(ui_frame);
    hold(Key::Enter, false);
    ASSERT_EQ(all<command::SaveRun>().size(), 1U);
    EXPECT_EQ(all<command::SaveRun>()[0].folder, "/elsewhere/r");
    files.busy = true;
    frames(2, ui_frame);
    EXPECT_EQ(closing(), Closing::Saving) << "until it is written";
    files.busy = false;
    would_be_lost.run = false;
    frames(1, ui_frame);
    EXPECT_EQ(closing(), Closing::Now);
}

TEST_F(ClosingTest, EveryRunIsProposedAFolderOfItsOwn) {
    const TemporaryFolder folder;
    train(*session, small_run(2));
    session->apply({command::RestartTraining{}, ""});
    session->wait_for_training();
    const auto proposed = [&](std::uint64_t run) {
        with_context([&](PanelContext& context) { begin_save_run(context, run); });
        return std::filesystem::path(view.files.path.text).filename();
    };
    EXPECT_EQ(proposed(1), "copy-run");
    EXPECT_EQ(proposed(2), "copy-run-2");
    files.document = folder / "mine.attnscope.json";
    for (const char* there : {"copy-run-2", "copy-run-3"}) std::filesystem::create_directory(folder / there);
    EXPECT_EQ(proposed(2), "copy-run-4") << "what is there is not proposed";
    for (const auto& [name, expected] : {std::pair("warm up", "warm up"), std::pair("../a/b", "copy-run-4")}) {
        session->apply({command::RenameRun{2, name}, ""});
        session->wait_for_training();
        session->update();
        EXPECT_EQ(proposed(2), expected);
    }
}

TEST_F(ClosingTest, ARunIsSavedInItsOwnFolder) {
    const TemporaryFolder folder;
    train(*session, small_run(2));
    show_another_document();
    with_context([](PanelContext& context) { begin_save_run(context, 1); });
    EXPECT_EQ(view.files.task, FileTask::SaveRun) << "it has none yet";
    EXPECT_EQ(std::filesystem::path(view.files.path.text).filename(), "copy-run");
    view.files.task = FileTask::None;
    save_run(*session, folder / "mine");
    with_context([](PanelContext& context) { begin_save_run(context, 1); });
    EXPECT_EQ(view.files.task, FileTask::None);
    ASSERT_EQ(all<command::SaveRun>().size(), 1U);
    EXPECT_EQ(all<command::SaveRun>()[0].folder, folder / "mine");
    with_context([](PanelContext& context) { begin_save_run(context, 1, true); });
    EXPECT_EQ(view.files.task, FileTask::SaveRun);
    EXPECT_EQ(view.files.path.text, folder / "mine");
}

/// The document becomes part of the run that it shows.
TEST_F(ClosingTest, ADocumentIsSavedWithItsRun) {
    train(*session, small_run(2));
    would_be_lost.run = would_be_lost.document = true;
    quit();
    press(Key::Enter, ui_frame);
    ASSERT_EQ(view.files.task, FileTask::SaveRun);
    put_path("/elsewhere/r");
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::SaveDocument>().size(), 1U);
    EXPECT_EQ(all<command::SaveDocument>()[0].path, "/elsewhere/r/document.attnscope.json");
    EXPECT_TRUE(all<command::SaveRun>().empty());
}

TEST_F(ClosingTest, EarlierRunsAreSavedOneAfterTheOther) {
    train(*session, small_run(2));
    session->apply({command::RestartTraining{}, ""});
    session->wait_for_training();
    show_another_document();
    would_be_lost.document = true;
    would_be_lost.earlier_runs = {1};
    files.document = "/elsewhere/mine.json";
    quit();
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::SaveDocument>().size(), 1U);
    would_be_lost.document = false;
    frames(2, ui_frame);
    EXPECT_EQ(closing(), Closing::Saving);
    ASSERT_EQ(view.files.task, FileTask::SaveRun);
    put_path("/elsewhere/first");
    files.busy = true;
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::SaveRun>().size(), 1U);
    EXPECT_EQ(all<command::SaveRun>()[0].run, 1U);
    EXPECT_EQ(all<command::SaveRun>()[0].folder, "/elsewhere/first");
    would_be_lost.earlier_runs.clear();
    files.busy = false;
    frames(1, ui_frame);
    EXPECT_EQ(closing(), Closing::Now);
}

/// Work of another window is not replaced unasked.
TEST_F(ClosingTest, WhatIsInTheWayIsAskedAbout) {
    would_be_lost.document = true;
    files.document = "/elsewhere/mine.json";
    quit();
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::SaveDocument>().size(), 1U);
    const command::SaveDocument again{files.document, {}, true};
    const auto ask = [&] {
        files.in_the_way = InTheWay{files.document, true, false, std::make_shared<const Command>(Command{again, ""})};
        ++files.ways;
        frames(2, ui_frame);
    };
    ask();
    EXPECT_EQ(closing(), Closing::Saving) << "until it is answered";
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(closing(), Closing::No);
    EXPECT_EQ(all<command::SaveDocument>().size(), 1U);
    ask();
    const auto replace = find_item("##replace_sheet", {"Replace"}, [&](float x, float y) {
        move_mouse(x, y);
        frame(ui_frame);
    });
    ASSERT_TRUE(replace.has_value());
    click(replace->x, replace->y, ui_frame);
    ASSERT_EQ(all<command::SaveDocument>().size(), 2U);
    EXPECT_TRUE(all<command::SaveDocument>()[1].replace);
    ask();
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::Save) << "under another name";
    EXPECT_EQ(all<command::SaveDocument>().size(), 2U);
}

TEST_F(ClosingTest, ADocumentOpenBeforeIsGoneBackTo) {
    would_be_lost.earlier_document = true;
    files.left_document = "/elsewhere/mine.json";
    quit();
    EXPECT_EQ(closing(), Closing::Asked);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(all<command::GoBackToLeft>().size(), 1U);
    EXPECT_EQ(all<command::TellFile>().size(), 1U) << "why the window stays open";
    EXPECT_EQ(closing(), Closing::No);
    EXPECT_TRUE(all<command::SaveDocument>().empty());
}

TEST_F(ClosingTest, ACancelledSheetLeavesTheWindowOpen) {
    train(*session, small_run(2));
    would_be_lost.run = true;
    quit();
    press(Key::Enter, ui_frame);
    ASSERT_EQ(view.files.task, FileTask::SaveRun);
    press(Key::Escape, ui_frame);
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::None);
    EXPECT_EQ(closing(), Closing::No);
    EXPECT_TRUE(all<command::SaveRun>().empty());
    EXPECT_TRUE(all<command::SaveDocument>().empty());
}

TEST_F(ClosingTest, WhatWasLeftBehindIsAskedAbout) {
    const AutosaveWords words{"gpt-tiny: the cat sat", "Copy, step 312", 1'700'000'000};
    leftover = &words;
    frames(2, ui_frame);
    EXPECT_EQ(view.files.restore, RestoreAnswer::None);
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.files.restore, RestoreAnswer::None);
    EXPECT_EQ(find_window("##restore_sheet"), nullptr) << "later";
    control('K');
    type("restore", ui_frame);
    press(Key::Enter, ui_frame);
    frames(3, ui_frame);
    ASSERT_NE(find_window("##restore_sheet"), nullptr) << "it can be asked for";
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.files.restore, RestoreAnswer::Restore);
}

/// Neither clicks nor keys reach what is behind the question.
TEST_F(ClosingTest, WhatWasLeftBehindIsAskedAboutFirst) {
    const AutosaveWords words{"gpt-tiny: the cat sat", "Copy, step 312", 1'700'000'000};
    leftover = &words;
    frames(3, ui_frame);
    const Look look = look_of(view);
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    int clicks = 0;
    for (float y = 12; y < display.y; y += 34)
        for (float x = 14; x < display.x; x += 46) {
            if (find_window("##restore_sheet")->Rect().Contains({x, y})) continue;
            click(x, y, ui_frame);
            ++clicks;
        }
    EXPECT_GT(clicks, 300);
    type("vhgc.", ui_frame);
    frames(2, ui_frame);
    EXPECT_TRUE(commands.empty());
    EXPECT_EQ(look_of(view), look);
    EXPECT_FALSE(view.text_row.edit.editing);
    EXPECT_FALSE(any_popup_open());
    EXPECT_EQ(view.files.restore, RestoreAnswer::None) << "and it stays";
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.files.restore, RestoreAnswer::Restore);
}

}  // namespace
}  // namespace attn::app::test
