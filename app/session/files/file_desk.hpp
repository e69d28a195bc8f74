#pragma once
/// The worker for files, and what is known of them.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "app/session/document/commands.hpp"
#include "app/session/facets/snapshot.hpp"
#include "app/session/files/autosave_folder.hpp"
#include "app/session/files/files_state.hpp"
#include "engine/trace/gradient_trace.hpp"

namespace attn::app {

/// One thread, which does one job after the other. All methods are for one thread (the UI's).
class FileDesk {
public:
    /// `wake` is called from the worker after every job.
    explicit FileDesk(std::function<void()> wake);
    ~FileDesk();  ///< a file under way is finished, what waits is dropped
    FileDesk(const FileDesk&) = delete;
    FileDesk& operator=(const FileDesk&) = delete;

    // Jobs, each for the command of its name; they work on the document and snapshot given.
    void save(const command::SaveDocument& save, std::shared_ptr<const Document> document);
    void open(const command::OpenFile& open);
    void restore(const command::RestoreWork& restore);
    void export_tensor(const command::ExportTensor& wanted, std::shared_ptr<const Snapshot> snapshot,
                       std::shared_ptr<const GradientTrace<float>> gradients);
    void copy_snippet(const command::CopySnippet& copy, std::shared_ptr<const Snapshot> snapshot);
    void list(const command::ListFolder& list);
    void list_models(const command::ListModels& list);
    void preview(const command::PreviewFile& preview);
    /// What the text that was opened becomes: commands of the next update.
    void use_text(command::UseText::As as, const Document& document);
    void tell(std::string notice, bool failed);

    struct Opened {
        std::vector<Command> commands;   ///< to be applied
        std::filesystem::path document;  ///< the file that the document then is in, if one was opened
        std::optional<KeptWork> kept;    ///< to be taken up; finish_restoring() ends it
    };
    /// Takes over what the worker has finished.
    Opened update(const std::shared_ptr<const Document>& document);
    /// The document is now as in this file (empty: as in an example).
    void set_document(std::filesystem::path path, std::shared_ptr<const Document> document);
    /// The document is that of a training run, as the session has made it by itself from one in which nothing would have been lost.
    void set_made_by_run(std::shared_ptr<const Document> document);
    /// What was kept is taken up, as a document that is not as in its file, or could not be.
    void finish_restoring(bool done, std::filesystem::path file, std::string notice);
    /// Those of earlier starts, newest first. What has been opened since, such as a file named on the command line, stays before them.
    void set_recent(std::vector<std::string> recent, std::vector<std::string> models);
    const FilesState& state() const { return state_; }
    /// Waits until every job is done.
    void wait();

private:
    /// What a job leaves behind.
    struct Result {
        std::string notice;
        bool failed = false;
        std::optional<FileKind> opened;
        std::filesystem::path path;               ///< of what was opened or saved
        std::vector<Command> commands;            ///< what follows from it
        std::shared_ptr<const Document> saved;    ///< a document that now is in `path`
        std::shared_ptr<const std::string> text;  ///< a Text
        std::shared_ptr<const FolderListing> listing;
        std::shared_ptr<const ModelShelf> models;
        std::shared_ptr<const FilePreview> preview;
        std::shared_ptr<const Lesson> lesson;  ///< a Lesson
        std::string clipboard;
        std::optional<KeptWork> kept;
        bool restoring = false;
    };
    using Job = std::function<void(Result&, const std::stop_token&)>;
    void send(Job job);
    void work(const std::stop_token& stop);
    void take(Result result, Opened& opened);
    bool would_be_lost(const Document& document) const;

    const std::function<void()> wake_;
    FilesState state_;
    std::shared_ptr<const Document> clean_;     ///< the document as it was opened or saved; null: as in no file
    std::shared_ptr<const Document> by_run_;    ///< see set_made_by_run()
    std::shared_ptr<const Document> compared_;  ///< the one that state_.unsaved speaks of
    std::vector<Command> waiting_;              ///< for the next update

    std::mutex mutex_;  // guards the four below
    std::condition_variable_any ordered_;
    std::condition_variable rested_;
    std::deque<Job> jobs_;
    std::vector<Result> results_;
    std::size_t unfinished_ = 0;

    std::jthread worker_;  // last: it uses everything above
};

}  // namespace attn::app
