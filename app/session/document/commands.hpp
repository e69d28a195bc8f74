#pragma once
/// Every user action as a plain value. Panels emit commands; the session applies them.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/document/notice_of.hpp"
#include "app/session/document/number_table.hpp"
#include "app/session/document/tensor_choice.hpp"
#include "app/session/states/state.hpp"

namespace attn::app {

struct Lesson;

namespace command {
struct SetTexts {
    std::vector<std::string> texts;
    std::vector<std::string> source_texts;  ///< encoder-decoders only
};
struct SetTokenizer {
    TokenizerKind kind;
};
struct SetConfig {
    Config config;
};
struct SetForward {
    ForwardSettings forward;
};
struct OpenPreset {
    std::string name;
    std::size_t sentence = 0;  ///< index of the sentence
};
struct OpenDocument {
    Document document;
    bool is_model = false;  ///< show a published model: keep the pinned states, and the current text if the model can read it
    /// The file it was read from, "" for a model. None: shown only temporarily, as in a lesson; saving still means what was there before.
    std::optional<std::filesystem::path> file{};
};

/// Settings that the current run can take over apply at once; those that need a new model wait for the next run.
struct SetRun {
    RunSettings run;
};
/// Resumes a paused run. Without a run, starts a new one, which the document then follows.
struct StartTraining {};
struct PauseTraining {};
/// Runs one step, then pauses.
struct StepTraining {};
/// Creates a new run with the document's settings, paused at step 0.
struct ResetTraining {};
/// Creates a new run with the document's settings and starts it.
struct RestartTraining {};
/// Creates a new run, paused, that goes on from a moment of the current one: the kept one nearest to `step`, none: the newest. What the
/// document's settings change of it applies from there on. The current run is kept.
struct BranchRun {
    std::optional<std::int64_t> step;
};
/// Trains two runs from the same seed, one after the other: first without the document's deliberate mistake, then with it. A correct run
/// that is already complete is reused.
struct TrainBoth {};
/// Shows the model at the saved moment of the current run nearest to `step`, which must lie within the run. None: follows the newest.
struct ShowMoment {
    std::optional<std::int64_t> step;
};
/// Chooses the moment of the current run to compare with, the saved one nearest to `step`, with the shown text and settings. None: stops
/// comparing.
struct CompareMoment {
    std::optional<std::int64_t> step;
};
/// Shows another step, or other attentions, of the shown recording.
struct ShowRecorded {
    std::int64_t step = 0;
    std::size_t group = 0;  ///< see RecordedNumbers
};
/// What another process of the recorded job recorded, at the same step if it has that; without a rank, the heads of all.
struct ShowRank {
    std::optional<std::int64_t> rank;
};
/// Makes a model of the shown step of the shown recording, and shows it.
struct OpenAsModel {
    Look look{};  ///< of the recording; the model opens at the same place
};
/// Goes back to randomly initialised parameters.
struct ShowUntrained {};
struct SetSampling {
    SamplingSettings sampling;
};
/// Generates tokens after the shown text with the document's sampling settings; `tokens` overrides their number.
struct WriteOn {
    std::int64_t sequence = 0;  ///< index in the batch
    std::optional<std::int64_t> tokens;
};
struct StopWriting {};
/// Appends a token chosen by hand, without asking the sampler.
struct WriteToken {
    std::int64_t sequence = 0;  ///< index in the batch
    std::int32_t id = 0;
    double predicted = 0, chance = 0;
};
/// Shows the text up to a generated token; kPrompt: the prompt only.
struct ShowWritten {
    std::int64_t token = kPrompt;
};
/// Deletes a generated token and everything after it.
struct ForgetWritten {
    std::int64_t token = kPrompt;
};
/// Makes an earlier run current, with its moments; the present one is paused and kept.
struct ChooseRun {
    std::uint64_t run;
};
/// Gives the current or a kept run a name of its own; "" takes it away.
struct RenameRun {
    std::uint64_t run;
    std::string name;
};
/// Deletes an earlier run with its curves and moments.
struct ForgetRun {
    std::uint64_t run;
};
/// Reads a training text for the next run.
struct OpenTrainingText {
    std::filesystem::path path;
};
/// Sets the training text of the next run.
struct SetTrainingText {
    std::shared_ptr<const std::string> text;
    std::string name;
};
/// Saves a run in a folder, with its curves and moments. The document that shows it is saved with it by SaveDocument.
struct SaveRun {
    std::uint64_t run = 0;  ///< the current or a kept one
    std::filesystem::path folder;
    bool replace = false;  ///< as in SaveDocument
};
/// Replaces the current run with the one in the file, paused.
struct OpenCheckpoint {
    std::filesystem::path path;
};

/// Pins a state as A or B; null: unpins it.
struct Pin {
    bool b = false;
    StateRef state;
};
/// Pins the shown state as A and shows the same text in another published model.
struct ShowBeside {
    std::shared_ptr<const OpenedModel> model;
};
/// Reads and examines attention recorded by other code.
struct OpenDump {
    std::filesystem::path path;
};

// Files: a worker reads and writes them; the outcome appears in FilesState.

/// Saves the document and the runs whose models it shows or has pinned; from then on it is the document of that file. At
/// run_document(FOLDER) it becomes part of the run in that folder. Runs that have no folder get one beside the document.
struct SaveDocument {
    std::filesystem::path path;
    std::optional<Look> look{};  ///< where it opens
    bool replace = false;        ///< may replace anything; otherwise only what is still as it was opened or saved here
};
/// Opens a document, a training run, a text or an attention dump, depending on the file's contents.
struct OpenFile {
    std::filesystem::path path;
    std::filesystem::path model{};      ///< of a document whose model is missing: where it is now
    std::filesystem::path model_was{};  ///< and where it was
};
/// Restores the work in an autosave folder: its document, and its run, paused.
struct RestoreWork {
    std::filesystem::path folder;
};
/// Says how to use the text that was opened.
struct UseText {
    enum class As : std::uint8_t { Probe, Training, Nothing } as;
};
/// Writes .csv or .npy, .safetensors (always the whole trace) or .npz (the operands of the chosen stage).
struct ExportTensor {
    std::filesystem::path path;
    TensorChoice choice;
};
/// Writes a matrix as it is shown to .csv or .npy.
struct ExportTable {
    std::filesystem::path path;
    std::shared_ptr<const NumberTable> table;
};
/// Appends what is shown to the lesson in a file, as a step with this title and caption; begins a lesson if there is no such file.
struct MakeLessonStep {
    std::filesystem::path file;
    std::string title, caption;
    Look look;
};
/// Writes a lesson as one HTML page with its pictures.
struct ExportLesson {
    std::filesystem::path path;
    std::shared_ptr<const Lesson> lesson;
};
/// Copies a program that recomputes a stage to the clipboard.
struct CopySnippet {
    StageId stage;
    bool torch = false;
};
struct ListFolder {
    std::filesystem::path folder;
};
/// Lists the models on this machine; `folder` is the user's own model folder, empty if they have none.
struct ListModels {
    std::filesystem::path folder;
};
/// Sets the memory limit for computed results, effective immediately.
struct SetMemoryBudget {
    double mib = 0;
};
/// Sets the memory limit for the kept steps of all training runs. A smaller one drops steps of all of them.
struct SetHistoryBudget {
    double mib = 0;
};
/// Identifies a file before it is opened.
struct PreviewFile {
    std::filesystem::path path;
};
/// Cancels FilesState::exporting.
/// Writes a Python file that the program carries: "attnscope.py" or its example.
struct ExportPython {
    std::filesystem::path path;
    std::string name;
};
struct CancelExport {};
/// Shows the outcome of a file operation done outside the session.
struct TellFile {
    std::string notice;
    bool failed = false;
    NoticeOf of = NoticeOf::File;
};
/// The cause of errors of this kind is gone, and so are their notices.
struct EndNotice {
    NoticeOf of = NoticeOf::File;
};

struct Undo {};
struct Redo {};
/// Undoes or redoes as far as FilesState::left.
struct GoBackToLeft {};
/// From here on, documents are shown only temporarily, as in a lesson. Once this ends, a single undo goes back over all of them; if the
/// document from before is shown again, there is no such undo step.
struct BeginVisit {};
struct EndVisit {};
}  // namespace command

/// `merge` joins this command with the previous one into one undo step if both carry the same non-empty name, as when a slider is dragged
/// or a word is typed.
struct Command {
    std::variant<command::SetTexts, command::SetTokenizer, command::SetConfig, command::SetForward, command::OpenPreset,
                 command::OpenDocument, command::SetRun, command::StartTraining, command::PauseTraining, command::StepTraining,
                 command::ResetTraining, command::RestartTraining, command::BranchRun, command::TrainBoth, command::CompareMoment,
                 command::ShowMoment, command::ShowRecorded, command::ShowRank, command::OpenAsModel, command::ShowUntrained,
                 command::SetSampling, command::WriteOn, command::StopWriting, command::WriteToken, command::ShowWritten,
                 command::ForgetWritten, command::ChooseRun, command::RenameRun, command::ForgetRun, command::OpenTrainingText,
                 command::SetTrainingText, command::SaveRun, command::OpenCheckpoint, command::Pin, command::SaveDocument,
                 command::OpenFile, command::RestoreWork, command::UseText, command::ExportTensor, command::ExportTable,
                 command::MakeLessonStep, command::ExportLesson, command::ExportPython, command::CancelExport, command::CopySnippet,
                 command::ListFolder, command::ListModels, command::SetMemoryBudget, command::SetHistoryBudget, command::PreviewFile,
                 command::TellFile, command::EndNotice, command::OpenDump, command::ShowBeside, command::Undo, command::Redo,
                 command::GoBackToLeft, command::BeginVisit, command::EndVisit>
        what;
    std::string merge;
};

/// Collects the commands that panels emit during a frame.
using CommandSink = std::vector<Command>;

}  // namespace attn::app
