/// Autosaved work: what is on disk, and what happens to it at the next start.

#include "app/session/files/autosave.hpp"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "app/session/document/document_json.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/settings.hpp"
#include "app/session/session.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/train/training_run.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

extern char** environ;

namespace attn::app {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::TemporaryFolder;

/// Connects a session and its autosave as the window does, without a window.
struct Work {
    explicit Work(const fs::path& folder) : autosave(folder, 0ms) {
        session.hand_runs_over_to([this](const HandedRun& run) { autosave.keep_run(run); });
    }
    void frame() {
        session.update();
        autosave.keep_document(session.shared_document(), session.files().document, session.files().unsaved);
    }
    void change(auto what) {
        apply(session, std::move(what));
        frame();
    }
    /// Masks, an edit, a text.
    void change_document() {
        change(command::SetTexts{{"one two three", "four"}, {}});
        ForwardSettings forward = session.document().forward;
        forward.masks.causal = !forward.masks.causal;
        forward.masks.painted = {{1, 0}};
        forward.edits = {{.at = {Stage::Scores, 0}, .row = 1, .column = 1, .value = 0.1}};
        change(command::SetForward{forward});
    }

    Autosave autosave;
    Session session{open_preset("causal-attention"), [] {}};
};

std::string read_all(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// The only leftover folder; the test fails if there is not exactly one.
AutosaveFolder only_leftover(const fs::path& parent) {
    std::vector<AutosaveFolder> all = AutosaveFolder::leftovers(parent);
    if (all.size() != 1) throw std::runtime_error(std::to_string(all.size()) + " leftovers");
    return std::move(all.front());
}

void restore(Session& session, const fs::path& folder) {
    apply(session, command::RestoreWork{folder});
    session.wait_for_files();
    session.wait_for_training();
    session.update();
}

/// Parameters of a run with these settings after `steps` uninterrupted steps.
std::shared_ptr<const Parameters<float>> uninterrupted(const RunSettings& run, std::int64_t steps) {
    TrainingRun alone(run);
    for (std::int64_t i = 0; i < steps; ++i) alone.step();
    return alone.keep().parameters;
}

TEST(Autosave, NothingIsWrittenBeforeThereIsSomethingToLose) {
    const TemporaryFolder folder;
    Work work(folder / "autosave");
    work.frame();
    work.autosave.flush();
    EXPECT_FALSE(fs::exists(folder / "autosave"));
    work.change_document();
    work.autosave.flush();
    EXPECT_EQ(work.autosave.problem(), "");
    EXPECT_TRUE(fs::exists(folder / "autosave"));
    EXPECT_TRUE(AutosaveFolder::leftovers(folder / "autosave").empty()) << "its process is still there";
}

/// Its parameters are in the program, so they come back with the document.
TEST(Autosave, ADocumentOfATrainedExampleComesBackWithItsModel) {
    const TemporaryFolder folder;
    {
        Work work(folder.path());
        apply(work.session, command::OpenPreset{"stories", 0});
        work.change(command::SetTexts{{"Lily has a red ball .", "Tom has a red ball ."}, {}});
        work.autosave.flush();
    }
    const AutosaveFolder left = only_leftover(folder.path());
    Session session(open_preset("gpt-tiny"), [] {});
    restore(session, left.path());
    ASSERT_NE(session.document().shipped, nullptr);
    EXPECT_EQ(session.document().shipped->name, "stories");
    EXPECT_EQ(session.document().texts.size(), 2U);
}

TEST(Autosave, ADocumentComesBackWhereItWasLookedAt) {
    const TemporaryFolder folder;
    const auto document = std::make_shared<const Document>(open_preset("stories"));
    Look look;
    look.view = View::KnockOut;
    look.stage = {Stage::Weights, 2};
    {
        Autosave autosave(folder.path());
        autosave.keep_document(document, {}, true, look);
        autosave.flush();
        look.head = 3;
        autosave.keep_document(document, {}, true, look);
        autosave.flush();
    }
    Session session(open_preset("gpt-tiny"), [] {});
    const AutosaveFolder left = only_leftover(folder.path());
    restore(session, left.path());
    EXPECT_EQ(session.document().look, look) << "the last place";
}

/// Between being restored and being kept anew, work is still where it was.
TEST(Autosave, AdoptedWorkStaysUntilThereIsNewerWork) {
    const TemporaryFolder folder;
    {
        Work work(folder.path());
        work.change_document();
        work.autosave.flush();
    }
    Autosave autosave(folder.path());
    autosave.adopt(only_leftover(folder.path()));
    autosave.flush();
    EXPECT_FALSE(fs::is_empty(folder.path()));
    // Work that is in its file, or was given up, is not kept.
    autosave.keep_document(std::make_shared<const Document>(open_preset("gpt-tiny")), {}, false);
    autosave.flush();
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Autosave, WhatIsSavedOrGivenUpIsRemoved) {
    const TemporaryFolder folder;
    Work work(folder / "autosave");
    work.change_document();
    work.autosave.flush();
    apply(work.session, command::SaveDocument{folder / "mine.attnscope.json"});
    work.session.wait_for_files();
    work.frame();
    work.autosave.flush();
    EXPECT_TRUE(fs::is_empty(folder / "autosave")) << "the document is in its file now";
    work.change_document();
    work.change(command::SetTexts{{"given up"}, {}});
    work.autosave.flush();
    EXPECT_FALSE(fs::is_empty(folder / "autosave"));
    work.autosave.discard();
    EXPECT_TRUE(fs::is_empty(folder / "autosave"));
}

TEST(Autosave, ADocumentComesBackByteForByte) {
    const TemporaryFolder folder;
    std::string expected;
    {
        Work work(folder.path());
        work.change_document();
        apply(work.session, command::SaveDocument{folder / "mine.attnscope.json"});
        work.session.wait_for_files();
        work.change(command::SetTexts{{"after saving"}, {}});
        expected = document_to_json(work.session.document());
        work.autosave.flush();
    }
    const AutosaveFolder left = only_leftover(folder.path());
    EXPECT_EQ(left.words().document, "mine.attnscope.json");
    EXPECT_EQ(left.words().run, "");
    EXPECT_GT(left.words().written_at, 1'500'000'000);
    Session session(open_preset("gpt-tiny"), [] {});
    restore(session, left.path());
    EXPECT_EQ(document_to_json(session.document()), expected);
    EXPECT_EQ(session.files().document, folder / "mine.attnscope.json");
    EXPECT_TRUE(session.files().unsaved && session.files().would_be_lost) << "it is in no file as it is now";
    EXPECT_TRUE(session.files().restored);
    apply(session, command::Undo{});
    EXPECT_EQ(session.document().preset, "gpt-tiny") << "what was there before is not lost either";
}

TEST(Autosave, ARunGoesOnBitForBitWithItsDocumentAndCurves) {
    const TemporaryFolder folder;
    const RunSettings run = small_run(24);
    std::string expected;
    std::vector<LossPoint> losses;
    {
        Work work(folder.path());
        work.change(command::SetRun{run});
        for (int i = 0; i < 10; ++i) apply(work.session, command::StepTraining{});
        work.session.wait_for_training();
        work.frame();
        ForwardSettings forward = work.session.document().forward;
        forward.masks.window = 2;
        work.change(command::SetForward{forward});
        ASSERT_EQ(work.session.training().status->step, 10);
        EXPECT_EQ(work.session.training().status->saved_step, 0);
        work.change(command::ShowMoment{5});
        work.session.wait();
        work.change(command::Pin{false, work.session.states().shown});
        work.change(command::ShowMoment{});
        losses = work.session.training().runs.back().losses;
        expected = document_to_json(work.session.document());
        work.autosave.flush();
        EXPECT_EQ(work.autosave.problem(), "");
    }
    const AutosaveFolder left = only_leftover(folder.path());
    EXPECT_EQ(left.words().run, "Copy, step 10");
    Session session(open_preset("causal-attention"), [] {});
    restore(session, left.path());
    EXPECT_TRUE(session.files().restored) << session.files().notice;
    EXPECT_EQ(document_to_json(session.document()), expected);
    EXPECT_EQ(session.training().status->step, 10);
    EXPECT_NE(session.training().status->saved_step, 10) << "an autosave is nothing that the person has saved";
    session.wait();
    const auto pinned = session.compute(session.states().pinned_a, facet::Trace{});
    ASSERT_TRUE(pinned) << pinned.problem;
    EXPECT_EQ(pinned->trained_step, 5);
    EXPECT_TRUE(same_numbers(*pinned->trace->parameters, *uninterrupted(run, 5)));
    ASSERT_EQ(session.training().runs.back().losses.size(), losses.size());
    EXPECT_EQ(session.training().runs.back().losses.back().loss, losses.back().loss);
    apply(session, command::StartTraining{});
    session.wait_for_training();
    ASSERT_EQ(session.training().status->step, 24);
    EXPECT_TRUE(same_numbers(*session.training().status->parameters, *uninterrupted(run, 24)));
    EXPECT_FALSE(same_numbers(*session.training().status->parameters, *uninterrupted(run, 23))) << "the comparison sees one step";
}

TEST(Autosave, WorkComesBackWithItsOwnFiles) {
    const TemporaryFolder folder;
    {
        Work work(folder / "autosave");
        work.change(command::SetRun{small_run(8)});
        apply(work.session, command::StepTraining{});
        work.session.wait_for_training();
        work.frame();
        save_run(work.session, folder / "run");
        apply(work.session, command::SaveDocument{folder / "mine.attnscope.json"});
        work.session.wait_for_files();
        apply(work.session, command::StepTraining{});
        work.session.wait_for_training();
        work.frame();
        ForwardSettings forward = work.session.document().forward;
        forward.masks.window = 2;
        work.change(command::SetForward{forward});
        work.autosave.flush();
    }
    const AutosaveFolder left = only_leftover(folder / "autosave");
    {
        Session session(open_preset("gpt-tiny"), [] {});
        restore(session, left.path());
        EXPECT_TRUE(session.files().restored) << session.files().notice;
        EXPECT_EQ(session.files().document, folder / "mine.attnscope.json");
        EXPECT_TRUE(session.files().unsaved);
        EXPECT_EQ(session.training().status->file, folder / "run");
        EXPECT_NE(session.training().status->saved_step, session.training().status->step);
    }
    fs::resize_file(left.path() / "run-1/model.safetensors", 100);
    Session session(open_preset("gpt-tiny"), [] {});
    restore(session, left.path());
    EXPECT_FALSE(session.files().restored);
    EXPECT_EQ(session.document().forward.masks.window, 2);
    EXPECT_EQ(session.files().document, "") << "saved over its own file, it would lose the link to its run";
    EXPECT_TRUE(session.files().unsaved);
}

TEST(Autosave, ASavedRunIsKeptOnlyWithADocumentThatShowsIt) {
    const TemporaryFolder folder;
    Work work(folder / "autosave");
    work.change(command::SetRun{small_run(4)});
    work.change(command::StartTraining{});
    work.session.wait_for_training();
    work.frame();
    save_run(work.session, folder / "run");
    EXPECT_EQ(work.session.training().status->saved_step, 4);
    work.frame();
    work.autosave.flush();
    const auto entries = [&] { return std::distance(fs::recursive_directory_iterator(folder / "autosave"), {}); };
    EXPECT_GT(entries(), 0) << "the document with the run's model is in no file";
    work.change(command::ShowUntrained{});
    apply(work.session, command::SaveDocument{folder / "mine.attnscope.json"});
    work.session.wait_for_files();
    work.frame();
    work.autosave.flush();
    EXPECT_EQ(entries(), 0);
}

TEST(Autosave, DamagedFilesNeverStopAStart) {
    const TemporaryFolder folder;
    const auto kill_with_work = [&] {
        Work work(folder.path());
        work.change(command::SetRun{small_run(4)});
        work.change(command::StartTraining{});
        work.session.wait_for_training();
        work.frame();
        work.autosave.flush();
    };
    const auto spoil = [&](const fs::path& name, const std::string& contents) {
        std::ofstream(only_leftover(folder.path()).path() / name, std::ios::binary) << contents;
    };
    kill_with_work();
    spoil("about.json", "{\"written_at\": -5");
    {
        const AutosaveFolder left = only_leftover(folder.path());
        EXPECT_EQ(left.words().document, "a document");
        EXPECT_GT(left.words().written_at, 1'500'000'000);
    }
    spoil("document.attnscope.json", std::string(1000, '['));
    {
        const AutosaveFolder left = only_leftover(folder.path());
        Session session(open_preset("gpt-tiny"), [] {});
        restore(session, left.path());
        EXPECT_FALSE(session.files().restored);
        EXPECT_TRUE(session.files().failed);
        EXPECT_EQ(session.training().status->step, 4) << "the run is whole";
    }
    spoil("run-1/model.safetensors", "no");
    {
        const AutosaveFolder left = only_leftover(folder.path());
        Session session(open_preset("gpt-tiny"), [] {});
        restore(session, left.path());
        EXPECT_FALSE(session.files().restored);
        EXPECT_EQ(session.document().preset, "gpt-tiny");
        EXPECT_EQ(session.training().status->run, 0U);
        EXPECT_NE(session.files().notice, "");
    }
    only_leftover(folder.path()).remove();
    EXPECT_EQ(folder.entries(), 0);
    // Foreign names, and an incomplete folder.
    std::ofstream(folder / "stray") << "x";
    fs::create_directory(folder / "1-0");
    fs::create_directory(folder / "a folder of somebody");
    EXPECT_TRUE(AutosaveFolder::leftovers(folder.path()).empty());
    EXPECT_FALSE(fs::exists(folder / "1-0"));
    EXPECT_TRUE(fs::exists(folder / "a folder of somebody"));
    EXPECT_TRUE(AutosaveFolder::leftovers(folder / "nowhere").empty());
}

TEST(Autosave, TwoWindowsKeepTheirWorkApart) {
    const TemporaryFolder folder;
    {
        Work one(folder.path()), other(folder.path());
        one.change(command::SetTexts{{"of the first"}, {}});
        other.change(command::SetTexts{{"of the second"}, {}});
        one.autosave.flush();
        other.autosave.flush();
        EXPECT_TRUE(AutosaveFolder::leftovers(folder.path()).empty());
    }
    const std::vector<AutosaveFolder> left = AutosaveFolder::leftovers(folder.path());
    ASSERT_EQ(left.size(), 2U);
    EXPECT_NE(left[0].words().document, left[1].words().document);
    EXPECT_TRUE(AutosaveFolder::leftovers(folder.path()).empty()) << "only one window may ask about them";
}

TEST(Autosave, AFolderThatCannotBeWrittenIsToldAndTriedAgain) {
    const TemporaryFolder folder;
    std::ofstream(folder / "autosave") << "a file in the way";
    Work work(folder / "autosave");
    work.change_document();
    work.autosave.flush();
    EXPECT_NE(work.autosave.problem().find("autosave"), std::string::npos) << work.autosave.problem();
    fs::remove(folder / "autosave");
    for (int i = 0; i < 500 && !work.autosave.problem().empty(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(work.autosave.problem(), "");
    EXPECT_FALSE(fs::is_empty(folder / "autosave"));
}

TEST(Autosave, WorkThatIsTakenUpGoesOn) {
    const TemporaryFolder folder;
    {
        Work work(folder.path());
        work.change_document();
        work.autosave.flush();
    }
    AutosaveFolder left = only_leftover(folder.path());
    const fs::path path = left.path();
    {
        Work work(folder.path());
        restore(work.session, path);
        work.frame();
        work.autosave.adopt(std::move(left));
        work.change(command::SetTexts{{"and more"}, {}});
        work.autosave.flush();
    }
    AutosaveFolder again = only_leftover(folder.path());
    EXPECT_NE(read_all(again.path() / "document.attnscope.json").find("and more"), std::string::npos);
}

/// Run by the test below in a separate process.
TEST(AutosaveChild, DISABLED_WorksUntilItIsKilled) {
    const char* folder = std::getenv("ATTN_AUTOSAVE_FOLDER");
    ASSERT_NE(folder, nullptr);
    Work work(fs::path(folder) / "autosave");
    work.change(command::SetRun{small_run(1'000'000)});
    work.change(command::StartTraining{});
    while (work.session.training().status->step < 5) work.frame();
    ForwardSettings forward = work.session.document().forward;
    forward.masks.painted = {{2, 1}};
    work.change(command::SetForward{forward});
    work.autosave.flush();
    std::ofstream(fs::path(folder) / "wait") << document_to_json(work.session.document());
    fs::rename(fs::path(folder) / "wait", fs::path(folder) / "ready");
    while (true) work.frame();
}

TEST(Autosave, SurvivesBeingKilledInTheMiddleOfARun) {
    for (int round = 0; round < 3; ++round) {
        const TemporaryFolder folder;
        ::setenv("ATTN_AUTOSAVE_FOLDER", folder.path().c_str(), 1);
        std::string program = fs::read_symlink("/proc/self/exe").string(), filter = "--gtest_filter=AutosaveChild.*",
                    disabled = "--gtest_also_run_disabled_tests";
        char* arguments[] = {program.data(), filter.data(), disabled.data(), nullptr};
        pid_t child = 0;
        ASSERT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
        for (int i = 0; i < 6000 && !fs::exists(folder / "ready"); ++i) std::this_thread::sleep_for(10ms);
        std::this_thread::sleep_for(std::chrono::milliseconds(37 * round));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status));
        ASSERT_TRUE(fs::exists(folder / "ready"));
        const AutosaveFolder left = only_leftover(folder / "autosave");
        Session session(open_preset("causal-attention"), [] {});
        restore(session, left.path());
        ASSERT_TRUE(session.files().restored) << session.files().notice;
        EXPECT_EQ(document_to_json(session.document()), read_all(folder / "ready"));
        const std::int64_t step = session.training().status->step;
        apply(session, command::StepTraining{});
        session.wait_for_training();
        ASSERT_EQ(session.training().status->step, step + 1);
        EXPECT_TRUE(same_numbers(*session.training().status->parameters, *uninterrupted(small_run(1'000'000), step + 1)));
    }
}

/// What the question before closing covers.
TEST(WouldBeLost, OnlyWhatIsNotThereAgainAtTheNextStart) {
    Session session(open_preset("causal-attention"), [] {});
    const auto lost = [&] {
        session.update();
        return session.files().would_be_lost;
    };
    EXPECT_FALSE(lost());
    apply(session, command::SetTexts{{"typed"}, {}});
    EXPECT_FALSE(lost()) << "the settings remember an example's texts";
    EXPECT_TRUE(session.files().unsaved);
    apply(session, command::SetTexts{{std::string(kMostRememberedLetters + 1, 'x')}, {}});
    EXPECT_TRUE(lost()) << "but no long ones";
    apply(session, command::Undo{});
    ForwardSettings forward = session.document().forward;
    forward.masks.causal = !forward.masks.causal;
    apply(session, command::SetForward{forward});
    EXPECT_TRUE(lost());
    apply(session, command::Undo{});
    EXPECT_FALSE(lost());
}

TEST(WouldBeLost, ARunThatTheDocumentFollowsIsTheRunsMatter) {
    const TemporaryFolder folder;
    Session session(open_preset("causal-attention"), [] {});
    apply(session, command::SetRun{small_run(4)});
    apply(session, command::SaveDocument{folder / "mine.attnscope.json"});
    session.wait_for_files();
    apply(session, command::StartTraining{});
    session.wait_for_training();
    session.update();
    EXPECT_TRUE(session.files().unsaved);
    EXPECT_FALSE(session.files().would_be_lost) << "the run has made this document";
    EXPECT_NE(session.training().status->step, session.training().status->saved_step);
    apply(session, command::ShowMoment{0});
    session.update();
    EXPECT_FALSE(session.files().would_be_lost) << "to look back is no work";
    save_run(session, folder / "run");
    EXPECT_EQ(session.training().status->step, session.training().status->saved_step);
    apply(session, command::SetTexts{{"abc"}, {}});
    session.update();
    EXPECT_TRUE(session.files().would_be_lost);
}

}  // namespace
}  // namespace attn::app
