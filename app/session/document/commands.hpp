#pragma once
/// Everything a user can do to the document, as plain values. Panels emit them; the session applies them.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/document/tensor_choice.hpp"
#include "app/session/states/state.hpp"

namespace attn::app {

namespace command {
struct SetTexts {
    std::vector<std::string> texts;
    std::vector<std::string> source_texts;  ///< only for an encoder-decoder
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
    std::size_t sentence = 0;  ///< which of its sentences
};
struct OpenDocument {
    Document document;
    bool is_model = false;  ///< it only shows a published model: what is pinned stays, and a text that this model reads as well
};

/// What applies to a run under way does so at once; what takes a new model waits for the next run.
struct SetRun {
    RunSettings run;
};
/// Goes on after a pause; begins a new run when there is none, which the document then follows.
struct StartTraining {};
struct PauseTraining {};
/// One step, then a pause.
struct StepTraining {};
/// A new run with the document's settings that waits at step 0.
struct ResetTraining {};
/// A new run with the document's settings that starts at once.
struct RestartTraining {};
/// Two runs of the same seed, one after the other: without the mistake that the document's run makes, then with it. A right run that has
/// come to its end already is not made again.
struct TrainBoth {};
/// Makes the document's model that of the kept moment of the current run nearest to `step`, which the run must have made; none: follows
/// the newest.
struct ShowMoment {
    std::optional<std::int64_t> step;
};
/// The model of another moment of the shown run, computed beside the shown one from the same text and settings; none: no longer.
struct CompareMoment {
    std::optional<std::int64_t> step;
};
/// Back to freshly drawn parameters.
struct ShowUntrained {};
struct SetSampling {
    SamplingSettings sampling;
};
/// Writes on behind what is shown, as the document's sampling says; `tokens`: so many instead.
struct WriteOn {
    std::int64_t sequence = 0;  ///< of the batch
    std::optional<std::int64_t> tokens;
};
struct StopWriting {};
/// Puts a token behind what is shown, as `chosen` says; the sampler is not asked.
struct WriteToken {
    std::int64_t sequence = 0;  ///< of the batch
    std::int32_t id = 0;
    double predicted = 0, chance = 0;
};
/// Looks at the text up to a token of the document's branches; kPrompt: at what they begin with.
struct ShowWritten {
    std::int64_t token = kPrompt;
};
/// Gives up a token and all that was written behind it.
struct ForgetWritten {
    std::int64_t token = kPrompt;
};
/// Takes up an earlier run with its moments; the one under way is kept, paused.
struct ChooseRun {
    std::uint64_t run;
};
/// Gives up an earlier run: its curves and its moments.
struct ForgetRun {
    std::uint64_t run;
};
/// The next run learns this text; the file is read at once.
struct OpenTrainingText {
    std::filesystem::path path;
};
struct SaveCheckpoint {
    std::filesystem::path path;
};
/// Takes the run in the file up in place of the current one, paused.
struct OpenCheckpoint {
    std::filesystem::path path;
};

/// Keeps a state as A or B; null: no longer.
struct Pin {
    bool b = false;
    StateRef state;
};
/// Keeps the shown state as A, and shows the same text in another published model.
struct ShowBeside {
    std::shared_ptr<const OpenedModel> model;
};
/// Reads and judges attention that other code recorded.
struct OpenDump {
    std::filesystem::path path;
};

// Files: all are read and written by a worker; what became of it stands in FilesState.

/// Writes the document; from then on it is the one in that file.
struct SaveDocument {
    std::filesystem::path path;
};
/// A document, a training run, a text or a dump: whatever the file turns out to be.
struct OpenFile {
    std::filesystem::path path;
};
/// Takes up the work in an autosave's folder: its document, and its run, paused.
struct RestoreWork {
    std::filesystem::path folder;
};
/// What the text that was opened is for.
struct UseText {
    enum class As : std::uint8_t { Probe, Training, Nothing } as;
};
/// .csv, .npy, .safetensors (of the whole trace, whatever was chosen) or .npz (the operands of the chosen stage).
struct ExportTensor {
    std::filesystem::path path;
    TensorChoice choice;
};
/// The program that computes a stage again, for the clipboard.
struct CopySnippet {
    StageId stage;
    bool torch = false;
};
struct ListFolder {
    std::filesystem::path folder;
};
/// What models there are; `folder` is the person's own for them, empty where they have none.
struct ListModels {
    std::filesystem::path folder;
};
/// What is computed may take this much memory, from now on.
struct SetMemoryBudget {
    double mib = 0;
};
/// A look at what a file is, before it is opened.
struct PreviewFile {
    std::filesystem::path path;
};
/// Somebody else has written a file, or could not.
struct TellFile {
    std::string notice;
    bool failed = false;
};

struct Undo {};
struct Redo {};
}  // namespace command

/// `merge` joins the command with the one before it into one undo step when both carry the same non-empty name
/// (the drag of one slider, the typing of one word).
struct Command {
    std::variant<command::SetTexts, command::SetTokenizer, command::SetConfig, command::SetForward, command::OpenPreset,
                 command::OpenDocument, command::SetRun, command::StartTraining, command::PauseTraining, command::StepTraining,
                 command::ResetTraining, command::RestartTraining, command::TrainBoth, command::CompareMoment, command::ShowMoment,
                 command::ShowUntrained, command::SetSampling, command::WriteOn, command::StopWriting, command::WriteToken,
                 command::ShowWritten, command::ForgetWritten, command::ChooseRun, command::ForgetRun, command::OpenTrainingText,
                 command::SaveCheckpoint, command::OpenCheckpoint, command::Pin, command::SaveDocument, command::OpenFile,
                 command::RestoreWork, command::UseText, command::ExportTensor, command::CopySnippet, command::ListFolder,
                 command::ListModels, command::SetMemoryBudget, command::PreviewFile, command::TellFile, command::OpenDump,
                 command::ShowBeside, command::Undo, command::Redo>
        what;
    std::string merge;
};

/// What panels append to in one frame.
using CommandSink = std::vector<Command>;

}  // namespace attn::app
