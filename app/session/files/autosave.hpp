#pragma once
/// Saves unsaved work to disk while the window is open, so that a crash loses only the last few seconds.

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/session/files/autosave_folder.hpp"
#include "app/session/threads/worker.hpp"

namespace attn::app {

/// A worker thread that writes the latest work it was given, if it has changed. The files stay on disk until discard().
class Autosave {
public:
    using Clock = std::chrono::steady_clock;
    /// Pause between two writes. Together with the trainer's kHandOverPause it must stay below the promised 10 s.
    static constexpr std::chrono::milliseconds kPause{2000};

    /// Creates nothing in `parent` until there is something to save.
    explicit Autosave(std::filesystem::path parent, std::chrono::milliseconds pause = kPause);
    ~Autosave();  ///< completes a write in progress
    Autosave(const Autosave&) = delete;
    Autosave& operator=(const Autosave&) = delete;

    /// Sets the document to save, and where it is looked at. `unsaved`: it would otherwise be lost. A document and the run it shows are
    /// always saved together.
    void keep_document(std::shared_ptr<const Document> document, const std::filesystem::path& file, bool unsaved,
                       const std::optional<Look>& look = {});
    /// Sets the run to save, and its own file ("" for none). `unsaved`: it would otherwise be lost. Thread-safe.
    void keep_run(std::shared_ptr<const RunFolder> run, const std::string& file, bool unsaved);
    /// Writes pending work now and waits for the attempt.
    void flush();
    /// To be called once everything is saved or given up: removes what was written.
    void discard();
    /// Continues in the folder of a process that has ended, after its work was restored here.
    void adopt(AutosaveFolder folder);
    /// Why the last write failed; "" if it succeeded.
    std::string problem() const;

private:
    struct Wanted {
        UnsavedWork work;
        bool document_unsaved = false, run_unsaved = false;
        UnsavedWork to_keep() const;
    };
    /// Writes what is wanted, if it has changed.
    void keep_up();
    void keep_up_later();
    /// Brings the files up to date. Throws FileError.
    void write(const UnsavedWork& work);
    /// Requires the lock.
    void change(Wanted wanted);

    const std::filesystem::path parent_;
    const std::chrono::milliseconds pause_;

    mutable std::mutex mutex_;  // guards the six members below
    Wanted wanted_;
    bool dirty_ = false;
    bool nothing_new_ = false;  ///< since a folder was adopted, whose files are still the restored work
    Clock::time_point due_{};
    std::string problem_;
    std::optional<AutosaveFolder> adopted_;  // used from the next write on

    // Only used by the worker:
    std::optional<AutosaveFolder> folder_;
    UnsavedWork written_;

    Worker worker_;  // last, because it uses the members above
};

}  // namespace attn::app
