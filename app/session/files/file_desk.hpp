#pragma once
/// The workers for file operations, and their outcome.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "app/session/document/commands.hpp"
#include "app/session/files/autosave_folder.hpp"
#include "app/session/files/files_state.hpp"
#include "app/session/files/saving.hpp"
#include "app/session/files/write_file.hpp"
#include "app/session/threads/worker.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/io/json.hpp"
#include "engine/trace/gradient_trace.hpp"

namespace attn::app {

struct ReadableFile;

/// Models of a step that was left, opened again.
struct ReopenedModels {
    struct Lost {
        ModelRef model;
        std::string why;  ///< the rest of a sentence, such as "config.json has changed since it was opened"
    };
    std::vector<ModelRef> opened;
    std::vector<Lost> lost;
};

/// Runs one job after the other on a worker thread; exports, which may take long, on another. All methods must be called from one thread
/// (the UI's).
class FileDesk {
public:
    /// `wake` is called from the workers after every job, and when an export has made progress.
    explicit FileDesk(std::function<void()> wake);
    ~FileDesk();  ///< asks the jobs to stop; those that save documents are completed
    FileDesk(const FileDesk&) = delete;
    FileDesk& operator=(const FileDesk&) = delete;

    // One job per command, using the document and snapshot passed in.
    /// Asks (FilesState::in_the_way) instead of replacing what was not opened or saved here. `again`: the command that replaces it.
    void save(ThingsToSave things, Command again);
    void open(const command::OpenFile& open);
    /// Opens what another process recorded of the step that the document shows, or its newest.
    void open_rank(const Document& document, std::optional<std::int64_t> rank);
    /// Makes a model of a recorded step, and opens it beside what is pinned, looking at the same place.
    void open_as_model(const RecordedNumbers& recorded, Pins pins, const Look& look);
    /// A document has been opened together with its run.
    void count_opened_document();
    void open_training_text(const command::OpenTrainingText& open);
    void restore(const command::RestoreWork& restore);
    void export_tensor(const command::ExportTensor& wanted, std::shared_ptr<const Snapshot> snapshot,
                       std::shared_ptr<const GradientTrace<float>> gradients);
    void write(const std::filesystem::path& path, WriteFile write);
    /// `step`: the lesson's new step.
    void append_to_lesson(const std::filesystem::path& file, Json step);
    /// Ends the export under way; its target stays as it was.
    void cancel_export();
    void copy_snippet(const command::CopySnippet& copy, std::shared_ptr<const Snapshot> snapshot);
    void list(const command::ListFolder& list);
    void list_models(const command::ListModels& list);
    void preview(const command::PreviewFile& preview);
    /// Opens models again, if they are still what they were.
    void reopen(std::vector<ModelRef> models);
    /// Closes the models that nothing else holds any more, on the worker: freeing a large vocabulary would hold up a frame.
    void close_models_left();
    /// Turns the opened text into commands, delivered by the next update().
    void use_text(command::UseText::As as, const Document& document);
    void tell(std::string notice, bool failed, NoticeOf of = NoticeOf::File);
    /// The cause of earlier errors of this kind is gone.
    void end_notices(NoticeOf of);

    struct Opened {
        std::vector<Command> commands;  ///< to be applied by the session
        std::optional<KeptWork> kept;   ///< restored work; the session then calls finish_restoring()
        std::optional<ReopenedModels> reopened{};
    };
    /// Collects the results of finished jobs.
    Opened update(const std::shared_ptr<const Document>& document);
    /// Turns to another subject of the document's history (DocumentHistory::subject()), which has a file of its own.
    void look_at(std::size_t subject);
    /// The subject of FilesState::left.
    std::optional<std::size_t> left_subject() const;
    /// Forgets the files of other subjects, which can no longer be reached.
    void forget_subjects_except(const std::set<std::size_t>& subjects);
    /// Declares the subject's document identical to this file (empty: to an example or a model). Null: it differs from the file.
    void set_document(std::filesystem::path path, std::shared_ptr<const Document> document);
    /// Declares that the session itself created this document for a training run, so that nothing would be lost with it.
    void set_made_by_run(std::shared_ptr<const Document> document);
    /// Ends a restoration. `done`: the document is the restored one, otherwise it could not be restored.
    void finish_restoring(bool done, std::string notice);
    /// Adds the recent files of earlier sessions, newest first, after those opened in this one.
    void set_recent(std::vector<std::string> recent, std::vector<std::string> models);
    const FilesState& state() const { return state_; }
    /// Shows what the code of the shown recording has logged.
    void set_logged(std::shared_ptr<const recording::Logged> logged) { state_.logged = std::move(logged); }
    /// Waits until all jobs are done.
    void wait();

private:
    /// What is left to do after a job, by the next update().
    using Outcome = std::function<void(Opened&)>;
    using Job = std::function<Outcome(const std::stop_token&)>;
    void send(Job job);
    Worker::Reports reports();
    /// Sends an export; `write` returns a description of what was written.
    void send_export(const std::filesystem::path& path, std::function<std::string(const WriteWatch&)> write);
    void show_export(std::optional<ExportUnderWay> shown);
    void deliver(Outcome outcome);
    /// The outcome of a job that only shows a notice.
    Outcome told(std::string notice, bool failed = false);
    /// A question to the user, where the document's model is.
    Outcome model_is_missing(MissingModel missing);
    /// A document and the run that it names, for the session to open together.
    Outcome opened_with_runs(KeptWork work);
    Outcome saved(const ThingsToSave& things, const SavedThings& done, std::size_t subject);
    /// Takes an opened file.
    void take(const std::filesystem::path& path, ReadableFile& file, Opened& opened);
    bool would_be_lost(const Document& document) const;
    /// Shows a notice about lines of an opened text that are left out, if any are.
    void tell_what_is_shown(std::size_t all, const std::vector<std::string>& whole, const std::vector<std::string>& lines);
    void show_subject();
    /// Those of documents other than the current one.
    void release_models(const Document& current);

    FilesState state_;
    /// A subject's file, and the document as opened or saved; null: in no file.
    struct SubjectFile {
        std::filesystem::path path;
        std::shared_ptr<const Document> clean;
        std::shared_ptr<const Document> left{};  ///< as it was left with unsaved changes; null: without any, or it is the current one
    };
    std::map<std::size_t, SubjectFile> subjects_;
    std::size_t subject_ = 0;
    std::shared_ptr<const Document> by_run_;    ///< see set_made_by_run()
    std::shared_ptr<const Document> compared_;  ///< the document that state_.unsaved was computed for
    std::vector<Command> waiting_;              ///< commands for the next update()
    FileStamps known_;                          ///< of what was opened and saved
    std::vector<std::shared_ptr<const OpenedModel>> open_models_;

    const std::function<void()> wake_;

    std::mutex mutex_;  // guards the two members below
    std::vector<Outcome> outcomes_;
    std::optional<ExportUnderWay> exporting_;

    Worker worker_, exports_;  // last, because they use the members above
};

}  // namespace attn::app
