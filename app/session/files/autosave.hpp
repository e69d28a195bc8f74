#pragma once
/// Saves unsaved work to disk while the window is open, so that a crash loses only the last few seconds.

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/session/files/autosave_folder.hpp"
#include "app/session/threads/worker.hpp"
#include "app/session/training/training_report.hpp"

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
    /// Takes up a run to save, or its newest state, or that it was given up. Thread-safe.
    void keep_run(const HandedRun& run);
    /// Writes pending work now and waits for the attempt.
    void flush();
    /// To be called once everything is saved or given up: removes what was written.
    void discard();
    /// Takes over the folder of a process that has ended, after its work was restored here: it stays until newer work is written.
    void adopt(AutosaveFolder folder);
    /// Why the last write failed; "" if it succeeded.
    std::string problem() const;

private:
    struct Wanted {
        std::shared_ptr<const Document> document;
        std::filesystem::path file;
        std::optional<Look> look;
        bool document_unsaved = false;
        std::map<std::uint64_t, UnsavedRun> runs;
        std::uint64_t current = 0;  ///< run
        UnsavedWork to_keep() const;
    };
    /// Writes what is wanted, if it has changed.
    void keep_up();
    void keep_up_later();
    /// Brings the files up to date. Throws FileError.
    void write(const UnsavedWork& work);
    /// What is on disk need not be in memory. Requires the lock.
    void release_written();
    /// Requires the lock.
    void change(Wanted wanted);

    const std::filesystem::path parent_;
    const std::chrono::milliseconds pause_;

    mutable std::mutex mutex_;  // guards the members up to the next comment
    Wanted wanted_;
    std::uint64_t versions_ = 0;  ///< of runs so far
    bool dirty_ = false;
    Clock::time_point due_{};
    std::string problem_;
    std::optional<AutosaveFolder> adopted_;  // removed by the next write

    // Only used by the worker:
    std::optional<AutosaveFolder> folder_;
    UnsavedWork written_;            // of its runs, those whose contents are
    std::vector<UnsavedRun> about_;  // all runs that are noted with it
    bool is_about_ = false;          // everything is noted

    Worker worker_;  // last, because it uses the members above
};

}  // namespace attn::app
