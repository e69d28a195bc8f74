/// Saving what a person means by "my run": reopened, it is what it was, and goes on as if it had never been closed.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "app/session/document/document_json.hpp"
#include "app/session/document/named_runs.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/autosave.hpp"
#include "app/session/session.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/train/curve_csv.hpp"
#include "engine/train/run_folder_writer.hpp"
#include "engine/train/training_run.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trained_session.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

void make_steps(Session& session, int count) {
    for (int i = 0; i < count; ++i) apply(session, command::StepTraining{});
    session.wait_for_training();
}

void save(Session& session, const fs::path& document, bool replace = false) {
    apply(session, command::SaveDocument{document, {}, replace});
    session.wait_for_files();
}

void open(Session& session, const fs::path& path) {
    apply(session, command::OpenFile{path});
    session.wait_for_files();
    session.wait_for_training();
    session.update();
}

void show(Session& session, std::optional<std::int64_t> step) {
    apply(session, command::ShowMoment{step});
    session.wait();
}

std::vector<float> numbers_of(Session& session, const StateRef& state) {
    const auto computed = session.compute(state, facet::Trace{});
    EXPECT_TRUE(computed) << computed.problem;
    if (!computed) return {};
    const Parameters<float>& all = *computed->trace->parameters;
    return {all.data(), all.data() + all.count()};
}

std::string bytes_of_file(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// More moments than attnscope train keeps, pins among them, a text of one's own and a mask.
void work(Session& session) {
    RunSettings run = small_run(60);
    run.train.forward.dropout.residual = 0.1;
    apply(session, command::SetRun{run});
    make_steps(session, 41);
    apply(session, command::SetTexts{{"ab>ab"}, {}});
    ForwardSettings forward = session.document().forward;
    forward.masks.window = 3;
    apply(session, command::SetForward{forward});
    show(session, 7);
    apply(session, command::Pin{false, session.states().shown});
    show(session, 23);
    apply(session, command::Pin{true, session.states().shown});
}

void expect_same_curves(const RunCurves& found, const RunCurves& expected) {
    EXPECT_EQ(found.losses, expected.losses);
    EXPECT_EQ(found.validations, expected.validations);
    EXPECT_EQ(heads_csv(found.heads), heads_csv(expected.heads));
}

/// What a model answers to all held-out sequences.
std::vector<std::string> said(const HeldOutAnswers& answers) {
    std::vector<std::string> all;
    for (const HeldOutExample& example : answers.examples) all.insert(all.end(), example.predicted.begin(), example.predicted.end());
    return all;
}

TEST(SavedRun, ComesBackAsItWasLeftAndGoesOn) {
    const TemporaryFolder folder;
    Session session(open_preset(kDefaultPreset), no_wake);
    work(session);
    save(session, run_document(folder / "mine"));
    EXPECT_EQ(session.files().notice, "Saved step 41 in " + (folder / "mine").string() + ".");
    EXPECT_FALSE(session.files().unsaved);
    EXPECT_EQ(session.training().status->saved_step, 41);
    // It is the folder of attnscope train, wherever it is moved.
    fs::rename(folder / "mine", folder / "moved");
    EXPECT_EQ(read_run_folder(folder / "moved").moments.size(), 42U);

    for (const char* chosen : {"moved", "moved/document.attnscope.json", "moved/model.safetensors"}) {
        SCOPED_TRACE(chosen);
        show(session, 23);
        Session again(open_preset("gpt-tiny"), no_wake);
        open(again, folder / chosen);
        EXPECT_FALSE(again.files().failed) << again.files().notice;
        EXPECT_TRUE(document_to_json(again.document()) == document_to_json(session.document()));
        EXPECT_EQ(again.files().document, run_document(folder / "moved"));
        EXPECT_FALSE(again.files().unsaved);
        const RunStatus &now = *again.training().status, &before = *session.training().status;
        EXPECT_EQ(now.settings, before.settings);
        EXPECT_EQ(now.moments, before.moments);
        EXPECT_EQ(now.saved_step, 41);
        ASSERT_EQ(again.training().runs.size(), 1U);
        expect_same_curves(again.training().runs[0], session.training().runs[0]);
        again.wait();
        for (const auto pinned : {&States::shown, &States::pinned_a, &States::pinned_b}) {
            ASSERT_NE(again.states().*pinned, nullptr);
            EXPECT_TRUE(numbers_of(again, again.states().*pinned) == numbers_of(session, session.states().*pinned));
        }
        EXPECT_NE(numbers_of(again, again.states().pinned_a), numbers_of(again, again.states().pinned_b)) << "the comparison can tell";
        for (const std::int64_t step : now.moments) {
            show(again, step);
            show(session, step);
            ASSERT_EQ(again.snapshot()->trained_step, step);
            EXPECT_TRUE(numbers_of(again, again.states().shown) == numbers_of(session, session.states().shown)) << step;
            const auto answers = again.get(held_out(again)), expected = session.get(held_out(session));
            ASSERT_EQ(answers->step, step) << "the answers are those of the step that is shown";
            EXPECT_EQ(said(*answers), said(*expected)) << step;
        }
        make_steps(again, 19);
        TrainingRun alone(before.settings);
        for (int i = 0; i < 60; ++i) {
            const LossPoint point = alone.step();
            EXPECT_EQ(again.training().runs[0].losses.at(static_cast<std::size_t>(i)).loss, point.loss) << i;
        }
        EXPECT_TRUE(same_numbers(*again.training().status->parameters, *alone.keep().parameters));
    }
}

TEST(SavedRun, IsSavedAgainAndAgainInItsFolder) {
    const TemporaryFolder folder;
    Session session(open_preset(kDefaultPreset), no_wake);
    work(session);
    for (int round = 0; round < 3; ++round) {
        save(session, run_document(folder / "mine"));
        EXPECT_FALSE(session.files().in_the_way);
        EXPECT_EQ(read_run_checkpoint(folder / "mine").steps, 41 + round);
        make_steps(session, 1);
    }
    // attnscope train goes on in it without losing what the document names.
    const NamedRuns named = named_runs(session.document());
    EXPECT_EQ(named.begin()->second, (std::set<std::int64_t>{7, 23}));
}

TEST(SavedRun, BringsTheRunsOfItsPinsAlong) {
    const TemporaryFolder folder;
    Session session(open_preset(kDefaultPreset), no_wake);
    apply(session, command::SetRun{small_run(20)});
    make_steps(session, 12);
    show(session, 4);
    apply(session, command::Pin{false, session.states().shown});
    RunSettings other = small_run(20);
    other.seed = 5;
    apply(session, command::SetRun{other});
    apply(session, command::ResetTraining{});
    make_steps(session, 9);
    show(session, {});
    ASSERT_EQ(session.training().status->run, 2U);
    save(session, run_document(folder / "second"));
    EXPECT_EQ(session.training().status->kept.at(0).saved_step, 12) << "what is pinned would otherwise not be there";
    fs::rename(folder / "second", folder / "moved");

    Session again(open_preset("gpt-tiny"), no_wake);
    open(again, folder / "moved");
    EXPECT_FALSE(again.files().failed) << again.files().notice;
    EXPECT_EQ(again.training().status->step, 9);
    ASSERT_EQ(again.training().status->kept.size(), 1U);
    EXPECT_EQ(again.training().status->kept[0].step, 12);
    again.wait();
    ASSERT_NE(again.states().pinned_a, nullptr);
    EXPECT_EQ(numbers_of(again, again.states().pinned_a), numbers_of(session, session.states().pinned_a));
}

/// A document in a file of its own names its run beside it.
TEST(SavedRun, IsFoundByADocumentBesideIt) {
    const TemporaryFolder folder;
    std::vector<float> expected;
    {
        Session session(open_preset(kDefaultPreset), no_wake);
        save(session, folder / "here/../mine.attnscope.json");
        work(session);
        expected = numbers_of(session, session.states().shown);
        save(session, folder / "mine.attnscope.json");
        EXPECT_TRUE(session.files().in_the_way == std::nullopt) << "it was saved here";
        EXPECT_EQ(session.training().status->saved_step, 41);
    }
    Session again(open_preset("gpt-tiny"), no_wake);
    open(again, folder / "mine.attnscope.json");
    again.wait();
    EXPECT_EQ(numbers_of(again, again.states().shown), expected);
    EXPECT_EQ(again.training().status->file, folder / "mine-run");
}

/// Where it branched off and what was set when, also after it went on in between.
TEST(SavedRun, ABranchRemembersWhereItCameFromAndWhatWasChanged) {
    const TemporaryFolder folder;
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_run(20));
    apply(session, command::RenameRun{1, "first try"});
    apply(session, command::BranchRun{10});
    RunSettings slower = small_run(40);
    slower.train.schedule.rate = 1e-4;
    apply(session, command::SetRun{slower});
    make_steps(session, 5);
    slower.batch_size = 8;
    apply(session, command::SetRun{slower});
    make_steps(session, 3);
    session.update();
    const RunCurves before = session.training().runs.back();
    ASSERT_EQ(before.origin, (RunOrigin{1, 10, "first try"}));
    ASSERT_EQ(before.changes.size(), 2U);
    save(session, run_document(folder / "branch"));

    Session again(open_preset("gpt-tiny"), no_wake);
    open(again, folder / "branch");
    const RunCurves& now = again.training().runs.at(0);
    EXPECT_EQ(now.origin, (RunOrigin{1, 10, "first try", true})) << "of another session: it is no run of this one";
    EXPECT_EQ(now.settings, before.settings) << "as it began";
    EXPECT_EQ(now.changes, before.changes);
    make_steps(again, 1);
    save(again, run_document(folder / "branch"));
    Session third(open_preset("gpt-tiny"), no_wake);
    open(third, folder / "branch");
    EXPECT_EQ(third.training().runs.at(0).origin, now.origin);
    EXPECT_EQ(third.training().runs.at(0).changes, before.changes);
}

/// The run that is there is chosen: a second one would only be mistaken for another.
TEST(SavedRun, OpenedAgainItIsTheOneThatIsThere) {
    const TemporaryFolder folder;
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_run(20));
    save(session, run_document(folder / "with document"));
    RunSettings other = small_run(12);
    other.seed = 5;
    apply(session, command::SetRun{other});
    apply(session, command::RestartTraining{});
    session.wait_for_training();
    save_run(session, folder / "alone");
    for (const char* name : {"with document", "alone", "alone/", "with document/model.safetensors"}) {
        open(session, folder / name);
        const std::uint64_t number = std::string_view(name).starts_with("alone") ? 2 : 1;
        EXPECT_EQ(session.training().runs.size(), 2U) << name;
        EXPECT_EQ(session.training().status->run, number) << name;
        ASSERT_TRUE(session.document().trained.has_value()) << name;
        EXPECT_EQ(session.document().trained->run, number) << name;
        EXPECT_FALSE(session.files().failed) << session.files().notice;
    }
    // The current one is shown again, too.
    open(session, folder / "alone");
    apply(session, command::OpenPreset{"gpt-tiny"});
    ASSERT_FALSE(session.document().trained.has_value());
    open(session, folder / "alone");
    ASSERT_TRUE(session.document().trained.has_value());
    EXPECT_EQ(session.document().trained->run, 2U);
    // What it was before it went on is another run,
    RunSettings on = other;
    on.stop.steps = 14;
    apply(session, command::SetRun{on});
    make_steps(session, 1);
    open(session, folder / "alone");
    EXPECT_EQ(session.training().runs.size(), 3U);
    EXPECT_EQ(session.training().status->step, 12);
    // and so is what another program has trained on.
    Session elsewhere(open_preset(kDefaultPreset), no_wake);
    open(elsewhere, folder / "alone");
    RunSettings longer = other;
    longer.stop.steps = 20;
    apply(elsewhere, command::SetRun{longer});
    make_steps(elsewhere, 3);
    save_run(elsewhere, folder / "alone");
    open(session, folder / "alone");
    EXPECT_EQ(session.training().runs.size(), 4U);
    EXPECT_EQ(session.training().status->step, 15);
}

/// A document names a folder beside it for its run; the run that has this folder keeps it.
TEST(SavedRun, EveryRunHasAFolderOfItsOwn) {
    const TemporaryFolder folder;
    Session session(open_preset(kDefaultPreset), no_wake);
    train(session, small_run(12));
    save(session, folder / "mine.attnscope.json");
    apply(session, command::RestartTraining{});
    session.wait_for_training();
    save(session, folder / "mine.attnscope.json");
    EXPECT_FALSE(session.files().in_the_way);
    EXPECT_TRUE(fs::exists(folder / "mine-run-2" / kCheckpointName));
    // Into the first one's folder it is saved only if asked for, and nobody else is blamed.
    apply(session, command::SaveRun{2, folder / "mine-run"});
    session.wait_for_files();
    ASSERT_TRUE(session.files().in_the_way);
    EXPECT_FALSE(session.files().in_the_way->changed);
    EXPECT_TRUE(session.files().in_the_way->is_other_run);
}

TEST(SavedRun, ANewRunIsNotSavedOverTheOneThatWasOpened) {
    const TemporaryFolder folder;
    Session session(open_preset(kDefaultPreset), no_wake);
    work(session);
    save(session, run_document(folder / "mine"));
    apply(session, command::ResetTraining{});
    make_steps(session, 2);
    EXPECT_TRUE(session.files().document.empty()) << session.files().document;
    save(session, run_document(folder / "mine"));
    ASSERT_TRUE(session.files().in_the_way);
    EXPECT_EQ(read_run_checkpoint(folder / "mine").steps, 41);
}

TEST(SavedRun, AChangedDocumentIsNotReplacedUnasked) {
    const TemporaryFolder folder;
    const fs::path file = folder / "mine.attnscope.json";
    Session session(open_preset(kDefaultPreset), no_wake), other(open_preset(kDefaultPreset), no_wake);
    save(session, file);
    open(other, file);
    apply(other, command::SetTexts{{"theirs"}, {}});
    save(other, file);
    EXPECT_FALSE(other.files().in_the_way) << "nobody else has changed it";
    const std::string theirs = bytes_of_file(file);
    apply(session, command::SetTexts{{"mine"}, {}});
    save(session, file);
    ASSERT_TRUE(session.files().in_the_way);
    EXPECT_EQ(session.files().in_the_way->path, file);
    EXPECT_TRUE(session.files().in_the_way->changed);
    EXPECT_EQ(bytes_of_file(file), theirs);
    EXPECT_TRUE(session.files().unsaved);
    session.apply(*session.files().in_the_way->again);
    session.wait_for_files();
    EXPECT_FALSE(session.files().in_the_way);
    EXPECT_NE(bytes_of_file(file), theirs);
    EXPECT_FALSE(session.files().unsaved);
    // Nor is a file that was never seen here.
    save(other, folder / "new.attnscope.json");
    save(session, folder / "new.attnscope.json");
    ASSERT_TRUE(session.files().in_the_way);
    EXPECT_FALSE(session.files().in_the_way->changed);
}

TEST(SavedRun, AChangedRunIsNotReplacedUnasked) {
    const TemporaryFolder folder;
    Session session(open_preset(kDefaultPreset), no_wake), other(open_preset(kDefaultPreset), no_wake);
    work(session);
    save(session, run_document(folder / "mine"));
    open(other, folder / "mine");
    make_steps(other, 5);
    save(other, run_document(folder / "mine"));
    EXPECT_FALSE(other.files().in_the_way);
    make_steps(session, 1);
    save(session, run_document(folder / "mine"));
    ASSERT_TRUE(session.files().in_the_way);
    EXPECT_EQ(read_run_folder(folder / "mine").checkpoint.steps, 46) << "all of it stays";
    EXPECT_EQ(session.training().status->saved_step, 41);
    apply(session, command::SaveRun{1, folder / "mine"});
    session.wait_for_files();
    ASSERT_TRUE(session.files().in_the_way) << "the run alone is no different";
    session.apply(*session.files().in_the_way->again);
    session.wait_for_files();
    const RunFolder now = read_run_folder(folder / "mine");
    EXPECT_EQ(now.checkpoint.steps, 42);
    EXPECT_EQ(now.losses, session.training().runs[0].losses);
    EXPECT_EQ(now.moments.size(), session.training().status->moments.size());
}

/// What a crash leaves.
struct Crash {
    explicit Crash(const fs::path& folder) : autosave(folder, std::chrono::milliseconds(0)) {
        session.hand_runs_over_to([this](const HandedRun& run) { autosave.keep_run(run); });
    }
    ~Crash() {
        session.update();
        autosave.keep_document(session.shared_document(), session.files().document, session.files().unsaved);
        autosave.flush();
        EXPECT_EQ(autosave.problem(), "");
    }
    Autosave autosave;
    Session session{open_preset(kDefaultPreset), no_wake};
};

TEST(Autosave, EveryRunInTheListComesBack) {
    const TemporaryFolder folder;
    RunSettings other = small_run(20);
    other.seed = 5;
    std::vector<LossPoint> first, second;
    std::string expected;
    {
        Crash crash(folder / "autosave");
        Session& session = crash.session;
        apply(session, command::SetRun{small_run(40)});
        make_steps(session, 30);
        show(session, 17);
        apply(session, command::Pin{true, session.states().shown});
        apply(session, command::SetRun{other});
        apply(session, command::ResetTraining{});
        make_steps(session, 9);
        // A run that was given up does not come back, and one that is saved comes back from its folder.
        apply(session, command::ResetTraining{});
        make_steps(session, 3);
        save_run(session, folder / "third");
        apply(session, command::ChooseRun{2});
        session.wait_for_training();
        apply(session, command::ForgetRun{3});
        session.wait_for_training();
        for (const RunCurves& curves : session.training().runs) (curves.run == 1 ? first : second) = curves.losses;
        ASSERT_EQ(session.training().status->kept.size(), 1U);
        expected = document_to_json(session.document());
    }
    std::vector<AutosaveFolder> left = AutosaveFolder::leftovers(folder / "autosave");
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].words().run, "Copy, step 9, and 1 more");
    Session session(open_preset("gpt-tiny"), no_wake);
    apply(session, command::RestoreWork{left[0].path()});
    session.wait_for_files();
    session.wait_for_training();
    session.update();
    EXPECT_TRUE(session.files().restored) << session.files().notice;
    const RunStatus& now = *session.training().status;
    EXPECT_EQ(now.step, 9);
    EXPECT_NE(now.saved_step, 9);
    ASSERT_EQ(now.kept.size(), 1U);
    EXPECT_EQ(now.kept[0].step, 30);
    EXPECT_TRUE(now.kept[0].unsaved());
    EXPECT_EQ(document_to_json(session.document()), expected);
    session.wait();
    ASSERT_NE(session.states().pinned_b, nullptr);
    const auto pinned = session.compute(session.states().pinned_b, facet::Trace{});
    ASSERT_TRUE(pinned) << pinned.problem;
    EXPECT_EQ(pinned->trained_step, 17) << "of many moments, those that are pinned are kept";
    for (const RunCurves& curves : session.training().runs) EXPECT_EQ(curves.losses, curves.run == 1 ? first : second);
    apply(session, command::ChooseRun{1});
    session.wait_for_training();
    make_steps(session, 1);
    TrainingRun alone(small_run(40));
    for (int i = 0; i < 31; ++i) alone.step();
    EXPECT_TRUE(same_numbers(*session.training().status->parameters, *alone.keep().parameters));
}

}  // namespace
}  // namespace attn::app
