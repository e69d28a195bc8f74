/// Nothing that the window writes follows a link that somebody planted under a name of the program's own.

#include <gtest/gtest.h>

#include "app/session/document/document_json.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/autosave_folder.hpp"
#include "app/session/files/settings.hpp"
#include "app/session/files/tensor_export.hpp"
#include "app/session/session.hpp"
#include "engine/train/resume.hpp"
#include "engine/train/training_run.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/planted_links.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const RunFolder> tiny_run() {
    TrainingRun run(test::fake_settings());
    auto folder = std::make_shared<RunFolder>();
    folder->moments.push_back(run.keep());
    folder->losses.push_back(run.step());
    folder->moments.push_back(run.keep());
    folder->checkpoint = take_checkpoint(run);
    return folder;
}

UnsavedRun of(const std::shared_ptr<const RunFolder>& run) {
    return {.number = 1, .version = 1, .contents = run, .file = "", .words = "", .unsaved = true};
}

TEST(PlantedLinks, AutosavesWriteNothingBehindThem) {
    const std::shared_ptr<const RunFolder> run = tiny_run();
    Document document = open_preset("causal-attention");
    document.run.task.text = std::make_shared<const std::string>("not UTF-8: \xff");  // in a file of its own
    const UnsavedWork work{.document = std::make_shared<const Document>(document), .file = "", .runs = {of(run)}};
    const auto write_all = [&](AutosaveFolder& folder, const UnsavedWork& kept) {
        folder.write_document(kept);
        for (const UnsavedRun& one : kept.runs) folder.write_run(one, {});
        folder.write_words(kept);
        folder.remove_runs_except(kept.runs);
    };
    test::expect_no_writing_behind_links([&](const fs::path& place) {
        const fs::path parent = place / "attnscope" / "autosave";
        std::vector<AutosaveFolder> left = AutosaveFolder::leftovers(parent);
        for (AutosaveFolder& folder : left) {
            write_all(folder, {});  // removes what was kept
            write_all(folder, work);
        }
        if (!left.empty()) return;
        AutosaveFolder folder = AutosaveFolder::create(parent);
        write_all(folder, work);
    });
}

TEST(PlantedLinks, AFolderThatBecomesALinkIsWrittenToNoMore) {
    const test::TemporaryFolder place, elsewhere;
    AutosaveFolder folder = AutosaveFolder::create(place / "attnscope" / "autosave");
    const UnsavedWork work{
        .document = std::make_shared<const Document>(open_preset("causal-attention")), .file = "", .runs = {of(tiny_run())}};
    folder.write_document(work);
    folder.write_run(work.runs[0], {});
    fs::rename(folder.path(), elsewhere / "moved");
    fs::create_directory_symlink(elsewhere / "moved", folder.path());
    const auto before = attn::test::contents_of(elsewhere.path());
    EXPECT_THROW(folder.write_document({}), FileError);
    EXPECT_THROW(folder.write_run(work.runs[0], {}), FileError);
    EXPECT_THROW(folder.remove_runs_except({}), FileError);
    EXPECT_THROW(folder.write_words(work), FileError);
    folder.remove();
    EXPECT_EQ(attn::test::contents_of(elsewhere.path()), before);
}

/// The program chooses the names of runs beside a document.
TEST(PlantedLinks, RunsSavedWithADocumentWriteNothingBehindThem) {
    test::expect_no_writing_behind_links([](const fs::path& place) {
        Session session(open_preset("causal-attention"), [] {});
        session.apply({command::SetRun{test::fake_settings()}, ""});
        session.apply({command::StepTraining{}, ""});
        session.wait_for_training();
        session.apply({command::SaveDocument{place / "mine.attnscope.json", {}, true}, ""});
        session.wait_for_files();
    });
}

TEST(PlantedLinks, SettingsAndLessonsWriteNothingBehindThem) {
    test::expect_no_writing_behind_links([](const fs::path& place) {
        const fs::path file = place / "attnscope" / "settings.json";
        Settings settings = load_settings(file).settings;  // renames the file that the last call left damaged
        settings.lessons["masks"] = 3;
        save_settings(file, settings);
        fs::resize_file(file, 5);
    });
}

TEST(PlantedLinks, DocumentsAndExportsWriteNothingBehindThem) {
    Session session(open_preset("causal-attention"), [] {});
    session.wait();
    test::expect_no_writing_behind_links([&](const fs::path& place) {
        save_document(place / "mine.attnscope.json", session.document());
        const Snapshot& shown = *session.snapshot();
        const TensorChoice choice{{Stage::Weights, 0}, {}, {}};
        write_tensor_csv(place / "weights.csv", shown, choice);
        write_tensor_npy(place / "weights.npy", shown, choice);
        write_tensor_safetensors(place / "weights.safetensors", shown, choice);
        write_snapshot_trace(place / "trace.npz", shown);
    });
}

}  // namespace
}  // namespace attn::app
