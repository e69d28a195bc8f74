/// Opening a run folder in a session: curves and moments are restored, and training continues bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "app/session/document/document_json.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/io/folder_lock.hpp"
#include "engine/train/resume.hpp"
#include "engine/train/run_folder_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

RunSettings tiny() {
    RunSettings run = default_run(TaskKind::Copy);
    run.task.length = 3;
    run.task.symbols = 4;
    run.model.d_model = 8;
    run.model.num_heads = 2;
    run.model.num_layers = 1;
    run.model.d_ff = 8;
    run.batch_size = 4;
    run.evaluate_every = 4;
    run.stop.steps = 100;
    return run;
}

TEST(OpenRun, BringsCurvesAndMomentsBackAndGoesOn) {
    TrainingRun run(tiny());
    RunFolder folder;
    const auto evaluate = [&] {
        if (!run.evaluation_due()) return;
        folder.validations.push_back(run.evaluate());
        folder.heads.push_back(score_heads(run.keep().parameters, run.dataset().probe_batch(), run.settings().train.forward, run.steps()));
    };
    evaluate();
    for (int i = 0; i < 6; ++i) {
        folder.losses.push_back(run.step());
        evaluate();
    }
    folder.checkpoint = take_checkpoint(run);
    folder.moments = run.history().moments();
    const test::TemporaryFolder place;
    write_run_folder(place.path() / "run", folder);

    Session session(open_preset(kDefaultPreset), [] {});
    session.apply({command::OpenCheckpoint{place.path() / "run"}, ""});
    session.wait_for_training();
    const TrainingReport& report = session.training();
    ASSERT_EQ(report.status->run, 1U) << report.status->notice;
    EXPECT_EQ(report.status->step, 6);
    ASSERT_EQ(report.runs.size(), 1U);
    ASSERT_EQ(report.runs[0].losses.size(), 6U);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(report.runs[0].losses[i].loss, folder.losses[i].loss);
    ASSERT_EQ(report.runs[0].validations.size(), 2U);
    EXPECT_EQ(report.runs[0].validations[1].step, 4);
    EXPECT_EQ(report.runs[0].validations[1].loss, folder.validations[1].loss);
    ASSERT_EQ(report.runs[0].heads.size(), 3U) << "those of steps 0 and 4, and the model as it stands";
    EXPECT_EQ(report.runs[0].heads.back().step, 6);
    EXPECT_EQ(report.status->moments, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));

    session.apply({command::ShowMoment{2}, ""});
    const auto shown = session.wait();
    EXPECT_EQ(shown->problem, "");
    EXPECT_EQ(shown->trained_step, 2);
    const Parameters<float>&computed = *shown->trace->parameters, &kept = *folder.moments[2].parameters;
    ASSERT_EQ(computed.count(), kept.count());
    EXPECT_TRUE(std::equal(kept.data(), kept.data() + kept.count(), computed.data()));

    session.apply({command::StepTraining{}, ""});
    session.wait_for_training();
    ASSERT_EQ(report.runs[0].losses.size(), 7U);
    EXPECT_GT(report.runs[0].losses[6].seconds, folder.losses[5].seconds) << "time goes on";
    EXPECT_GT(report.runs[0].losses[6].tokens, folder.losses[5].tokens);
    EXPECT_EQ(report.runs[0].losses[6].loss, run.step().loss) << "as without the interruption, bit for bit";
}

TEST(SaveRun, WhatCannotBeSavedDoesNotEndTheRun) {
    const test::TemporaryFolder place;
    std::filesystem::create_directory(place / "linked");
    std::filesystem::create_symlink("victim", place / "linked/model.safetensors");
    std::ofstream(place / "file") << "mine";
    std::filesystem::create_directory(place / "held");
    const FolderLock held(place / "held");  // as if another process were training into it
    Session session(open_preset(kDefaultPreset), [] {});
    session.apply({command::SetRun{tiny()}, ""});
    session.apply({command::StepTraining{}, ""});
    session.wait_for_training();
    for (const char* name : {"linked", "file", "file/below", "held"}) {
        session.apply({command::SaveRun{1, place / name, true}, ""});
        session.apply({command::StepTraining{}, ""});
        session.wait_for_files();
        session.wait_for_training();
        EXPECT_TRUE(session.files().failed);
        EXPECT_NE(session.files().notice.find(place.path().native()), std::string::npos) << session.files().notice;
        EXPECT_EQ(session.files().notice.find("Saved"), std::string::npos) << session.files().notice;
    }
    EXPECT_EQ(session.training().status->phase, TrainingPhase::Paused);
    EXPECT_EQ(session.training().status->step, 5);
    EXPECT_EQ(session.training().status->saved_step, 0);
    session.apply({command::SaveRun{1, place / "new/run"}, ""});
    session.wait_for_files();
    EXPECT_EQ(read_run_checkpoint(place / "new/run").steps, 5);
    EXPECT_EQ(session.training().status->saved_step, 5);
}

/// A run saved in a folder, and a document that shows its second step with a text of its own.
struct SavedWithRun {
    std::filesystem::path document, checkpoint;
    std::vector<float> parameters;
    explicit SavedWithRun(const std::filesystem::path& folder)
        : document(folder / "mine.attnscope.json"), checkpoint(folder / "mine-run/model.safetensors") {
        Session session(open_preset(kDefaultPreset), [] {});
        session.apply({command::SetRun{tiny()}, ""});
        for (int i = 0; i < 3; ++i) session.apply({command::StepTraining{}, ""});
        session.wait_for_training();
        session.apply({command::SetTexts{{"ab>ab"}, {}}, ""});
        session.apply({command::SaveDocument{document}, ""});
        session.wait_for_files();
        EXPECT_NE(session.files().notice.find("in " + checkpoint.parent_path().string()), std::string::npos) << session.files().notice;
        EXPECT_FALSE(session.files().unsaved);
        parameters = numbers(session);
    }
    static std::vector<float> numbers(Session& session) {
        const Parameters<float>& all = *session.wait()->trace->parameters;
        return {all.data(), all.data() + all.count()};
    }
};

/// Opens a document, and the run that it names.
void open_with_run(Session& session, const std::filesystem::path& document) {
    session.apply({command::OpenFile{document}, ""});
    session.wait_for_files();
    session.wait_for_training();
    session.update();
}

TEST(OpenRun, ADocumentBringsTheModelThatItShowed) {
    const test::TemporaryFolder place;
    SavedWithRun saved(place.path() / "here");
    // Both can be moved together.
    std::filesystem::rename(place.path() / "here", place.path() / "there");
    saved.document = place.path() / "there/mine.attnscope.json";
    Session session(open_preset(kDefaultPreset), [] {});
    open_with_run(session, saved.document);
    EXPECT_EQ(session.files().notice.rfind("Opened ", 0), 0U) << session.files().notice;
    EXPECT_NE(session.files().notice.find("with its trained model from"), std::string::npos) << session.files().notice;
    EXPECT_FALSE(session.files().failed);
    EXPECT_EQ(session.document().texts, std::vector<std::string>{"ab>ab"});
    ASSERT_TRUE(session.document().trained);
    EXPECT_EQ(session.document().trained->run, session.training().status->run);
    EXPECT_TRUE(session.document().run_places.empty()) << "which only files name";
    EXPECT_EQ(session.files().document, saved.document);
    EXPECT_FALSE(session.files().unsaved);
    EXPECT_EQ(SavedWithRun::numbers(session), saved.parameters);
}

/// A label never stands over the numbers of another step.
TEST(OpenRun, ADocumentOfAStepThatIsNotKeptNamesTheOneThatIsShown) {
    const test::TemporaryFolder place;
    const SavedWithRun saved(place.path());
    Document document = load_document(saved.document);
    document.trained->step = 1;
    save_document(saved.document, document);
    ASSERT_TRUE(std::filesystem::remove(saved.checkpoint.parent_path() / kMomentsName / moment_name(1)));
    Session session(open_preset(kDefaultPreset), [] {});
    open_with_run(session, saved.document);
    EXPECT_NE(session.files().notice.find("Step 1 of its run was not kept: step 0 is shown."), std::string::npos) << session.files().notice;
    EXPECT_TRUE(session.files().failed);
    EXPECT_EQ(session.document().trained->step, 0);
    EXPECT_EQ(session.wait()->trained_step, 0);
}

TEST(OpenRun, StepsThatADocumentNamesAreThereHoweverLittleRoomThereIs) {
    const test::TemporaryFolder place;
    TrainingRun run(tiny());
    while (run.steps() < 40) run.step();
    RunFolder folder;
    folder.checkpoint = take_checkpoint(run);
    folder.moments = run.history().moments();
    write_run_folder(place.path() / "run", folder, {.most_moments = folder.moments.size()});
    const auto moment_of_run = [&](std::int64_t step) { return *folder.moments.at(static_cast<std::size_t>(step)).parameters; };
    ASSERT_EQ(folder.moments.at(11).step, 11);
    Document document;
    {
        Session session(open_preset(kDefaultPreset), [] {});
        session.apply({command::OpenCheckpoint{place.path() / "run"}, ""});
        session.wait_for_training();
        session.apply({command::ShowMoment{7}, ""});
        session.wait();
        session.apply({command::Pin{true, session.states().shown}, ""});
        session.apply({command::ShowMoment{11}, ""});
        document = session.document();
    }
    document.run_places[document.trained->run] = {(place.path() / "run").string(), "run"};
    save_document(place.path() / "mine.attnscope.json", document);
    Session session(open_preset(kDefaultPreset), [] {});
    session.apply({command::SetHistoryBudget{0.001}, ""});
    open_with_run(session, place.path() / "mine.attnscope.json");
    EXPECT_FALSE(session.files().failed) << session.files().notice;
    EXPECT_LT(session.training().status->moments.size(), 10U) << "there was to be little room";
    const auto expect_step = [&](const Snapshot& shown, std::int64_t step) {
        ASSERT_EQ(shown.trained_step, step);
        const Parameters<float> kept = moment_of_run(step);
        EXPECT_TRUE(std::equal(kept.data(), kept.data() + kept.count(), shown.trace->parameters->data())) << step;
    };
    expect_step(*session.wait(), 11);
    const auto pinned = session.compute(session.states().pinned_b, facet::Trace{});
    ASSERT_TRUE(pinned) << pinned.problem;
    expect_step(*pinned, 7);
}

/// Nor does a document that was saved beside a run change it.
TEST(OpenRun, ARunThatIsOpenedStandsBesideItsOwnSettings) {
    const test::TemporaryFolder place;
    const SavedWithRun saved(place.path());
    RunSettings other_rate = tiny();
    other_rate.train.schedule.rate = 0.5;
    other_rate.stop.steps = 400;
    for (const RunSettings& other : {default_run(TaskKind::Repeat), other_rate}) {
        Document document = load_document(saved.document);
        document.run = other;
        save_document(saved.document, document);
        Session session(open_preset(kDefaultPreset), [] {});
        open_with_run(session, saved.document);
        session.wait_for_training();
        const RunSettings& run = session.training().status->settings;
        EXPECT_EQ(run.task.kind, TaskKind::Copy);
        EXPECT_EQ(run.train.schedule.rate, tiny().train.schedule.rate);
        EXPECT_EQ(run.stop.steps, 100);
        EXPECT_EQ(session.document().run, run);
    }
}

/// Numbers of another model under the document's name would be wrong.
void expect_nothing_drawn(Session& session) {
    const auto shown = session.wait();
    EXPECT_EQ(shown->trace, nullptr);
    EXPECT_NE(shown->problem.find("training run"), std::string::npos) << shown->problem;
    ASSERT_TRUE(session.document().trained);
    session.apply({command::SetTexts{{"ba>ba"}, {}}, ""});
    EXPECT_EQ(session.wait()->trace, nullptr) << "nor after a change";
    session.apply({command::Undo{}, ""});
}

TEST(OpenRun, ADocumentWhoseModelIsGoneOrAnotherSaysSo) {
    const test::TemporaryFolder place;
    const SavedWithRun saved(place.path());
    // Another model in the same place.
    {
        RunSettings other = tiny();
        other.model.d_model = 16;
        Session session(open_preset(kDefaultPreset), [] {});
        session.apply({command::SetRun{other}, ""});
        session.apply({command::StepTraining{}, ""});
        session.wait_for_training();
        session.apply({command::SaveRun{1, saved.checkpoint.parent_path(), true}, ""});
        session.wait_for_files();
    }
    Session another(open_preset(kDefaultPreset), [] {});
    open_with_run(another, saved.document);
    EXPECT_TRUE(another.files().failed);
    EXPECT_NE(another.files().notice.find("now has another one"), std::string::npos) << another.files().notice;
    EXPECT_EQ(another.document().texts, std::vector<std::string>{"ab>ab"});
    expect_nothing_drawn(another);
    // Not a run at all.
    std::filesystem::resize_file(saved.checkpoint, 100);
    Session damaged(open_preset(kDefaultPreset), [] {});
    open_with_run(damaged, saved.document);
    EXPECT_TRUE(damaged.files().failed);
    EXPECT_NE(damaged.files().notice.find("but not its trained model: "), std::string::npos) << damaged.files().notice;
    EXPECT_EQ(damaged.document().texts, std::vector<std::string>{"ab>ab"});
    expect_nothing_drawn(damaged);
    // Gone.
    std::filesystem::remove_all(saved.checkpoint.parent_path());
    Session gone(open_preset(kDefaultPreset), [] {});
    open_with_run(gone, saved.document);
    EXPECT_TRUE(gone.files().failed);
    EXPECT_NE(gone.files().notice.find("no longer at " + saved.checkpoint.parent_path().string()), std::string::npos)
        << gone.files().notice;
    EXPECT_EQ(gone.document().texts, std::vector<std::string>{"ab>ab"});
    expect_nothing_drawn(gone);
    // Its place is not forgotten.
    gone.apply({command::SaveDocument{place / "again.attnscope.json"}, ""});
    gone.wait_for_files();
    EXPECT_EQ(load_document(place / "again.attnscope.json").run_places.begin()->second.path, saved.checkpoint.parent_path());
}

/// Nothing could be shown of it.
TEST(OpenRun, ADocumentWhoseTokenizerIsGoneIsRefused) {
    const test::TemporaryFolder place;
    const SavedWithRun saved(place.path());
    Document document = load_document(saved.document);
    document.tokenizer = TokenizerKind::Bpe;
    for (const char* checkpoint : {"", "gone"}) {
        document.run_places = {{document.trained->run, RunPlace{"", checkpoint}}};
        save_document(saved.document, document);
        Session session(open_preset(kDefaultPreset), [] {});
        const Document before = session.document();
        open_with_run(session, saved.document);
        EXPECT_TRUE(session.files().failed);
        EXPECT_NE(session.files().notice.find("its tokenizer was trained with its model"), std::string::npos) << session.files().notice;
        EXPECT_EQ(session.document(), before) << "the state stays as it was";
    }
}

/// Saving must not replace the file of what was open before.
TEST(OpenRun, ARunThatIsOpenedIsInNoDocument) {
    const test::TemporaryFolder place;
    const SavedWithRun saved(place.path());
    Session session(open_preset(kDefaultPreset), [] {});
    session.apply({command::SetTexts{{"mine"}, {}}, ""});
    session.apply({command::SaveDocument{place / "other.attnscope.json"}, ""});
    session.wait_for_files();
    ASSERT_FALSE(session.files().document.empty());
    session.apply({command::OpenCheckpoint{saved.checkpoint}, ""});
    session.wait_for_training();
    session.update();
    EXPECT_TRUE(session.document().trained);
    EXPECT_TRUE(session.files().document.empty()) << session.files().document;
    EXPECT_FALSE(session.files().would_be_lost);
    session.apply({command::Undo{}, ""});
    session.update();
    EXPECT_EQ(session.files().document, place / "other.attnscope.json") << "which is what is shown again";
}

TEST(OpenRun, AFolderWithoutARunIsRefused) {
    const test::TemporaryFolder place;
    Session session(open_preset(kDefaultPreset), [] {});
    session.apply({command::OpenCheckpoint{place.path()}, ""});
    session.wait_for_training();
    EXPECT_EQ(session.training().status->run, 0U);
    EXPECT_NE(session.training().status->notice.find(place.path().string()), std::string::npos) << session.training().status->notice;
}

}  // namespace
}  // namespace attn::app
