/// The question before the window closes and its consequences, and the question about autosaved work.

#include <gtest/gtest.h>

#include <filesystem>

#include "app/panels/files/files.hpp"
#include "app/panels/look.hpp"
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
    view.files.closing_part = ClosingPart::Document;
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

TEST_F(ClosingTest, ARunAsksForAFile) {
    would_be_lost.run = true;
    quit();
    press(Key::Enter, ui_frame);
    ASSERT_EQ(view.files.task, FileTask::SaveRun);
    view.files.path.text = "/elsewhere/";
    view.files.path.focus = true;
    ImGui::ClearActiveID();
    frames(3, ui_frame);
    type("r.safetensors", ui_frame);
    hold(Key::Enter, true);
    frame(ui_frame);
    hold(Key::Enter, false);
    ASSERT_EQ(all<command::SaveCheckpoint>().size(), 1U);
    EXPECT_EQ(all<command::SaveCheckpoint>()[0].path, "/elsewhere/r.safetensors");
    frames(2, ui_frame);
    EXPECT_EQ(closing(), Closing::Saving) << "the trainer has not answered yet";
    would_be_lost.run = false;
    frames(1, ui_frame);
    EXPECT_EQ(closing(), Closing::Now);
}

TEST_F(ClosingTest, ARunIsOfferedItsOwnFile) {
    const TemporaryFolder folder;
    const auto offered = [this] {
        with_context(begin_save_run);
        return std::filesystem::path(view.files.path.text).filename();
    };
    train(*session, small_run(2));
    EXPECT_EQ(offered(), "run.safetensors") << "it has none yet";
    const auto save = [&](const char* name) {
        session->apply({command::SaveCheckpoint{folder / name}, ""});
        session->wait_for_training();
    };
    save("mine.safetensors");
    EXPECT_EQ(offered(), "mine.safetensors");
    EXPECT_EQ(view.files.path.text, folder / "mine.safetensors");
    save("model.safetensors");
    EXPECT_EQ(offered(), "run.safetensors") << "that name stands for a folder of attnscope train, or a model from elsewhere";
}

/// The document can then name the file of its model.
TEST_F(ClosingTest, TheRunIsSavedBeforeTheDocument) {
    would_be_lost.run = would_be_lost.document = true;
    files.document = "/elsewhere/mine.json";
    quit();
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::SaveRun);
    EXPECT_TRUE(all<command::SaveDocument>().empty());
}

TEST_F(ClosingTest, EarlierRunsAreNotLostBySaving) {
    would_be_lost.document = would_be_lost.earlier_runs = true;
    files.document = "/elsewhere/mine.json";
    quit();
    press(Key::Enter, ui_frame);
    ASSERT_EQ(all<command::SaveDocument>().size(), 1U);
    would_be_lost.document = false;
    frames(2, ui_frame);
    EXPECT_EQ(closing(), Closing::No) << "there is still something to lose";
    EXPECT_EQ(view.view, View::Train);
    ASSERT_EQ(all<command::TellFile>().size(), 1U);
    EXPECT_TRUE(all<command::TellFile>()[0].failed);
    // Asked again, the window can be closed without them.
    quit();
    EXPECT_EQ(closing(), Closing::Asked);
    press(Key::Enter, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(closing(), Closing::No);
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
    would_be_lost.run = true;
    quit();
    press(Key::Enter, ui_frame);
    ASSERT_EQ(view.files.task, FileTask::SaveRun);
    press(Key::Escape, ui_frame);
    press(Key::Escape, ui_frame);
    frames(2, ui_frame);
    EXPECT_EQ(view.files.task, FileTask::None);
    EXPECT_EQ(closing(), Closing::No);
    EXPECT_TRUE(all<command::SaveCheckpoint>().empty());
}

TEST_F(ClosingTest, WhatWasLeftBehindIsAskedAbout) {
    const AutosaveWords words{"gpt-tiny: the cat sat", "Copy, step 312", 1'700'000'000};
    leftover = &words;
    frames(2, ui_frame);
    EXPECT_EQ(view.files.restore, RestoreAnswer::None);
    press(Key::Escape, ui_frame);
    EXPECT_EQ(view.files.restore, RestoreAnswer::Later);
    view.files.restore = RestoreAnswer::None;
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
    EXPECT_FALSE(view.text.editing);
    EXPECT_FALSE(any_popup_open());
    EXPECT_EQ(view.files.restore, RestoreAnswer::None) << "and it stays";
    press(Key::Enter, ui_frame);
    EXPECT_EQ(view.files.restore, RestoreAnswer::Restore);
}

}  // namespace
}  // namespace attn::app::test
