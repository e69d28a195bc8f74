#pragma once
/// Keeps work that is not saved on the disk while the window is open, so that no unclean end takes more than its last seconds.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "app/session/files/autosave_folder.hpp"

namespace attn::app {

/// One thread, which writes what it was given last and only when that changed. What it has written stays on the disk until discard().
class Autosave {
public:
    using Clock = std::chrono::steady_clock;
    /// Seconds between two writes. With the trainer's (see kHandOverPause) it stays below the 10 s that work may be old.
    static constexpr std::chrono::milliseconds kPause{2000};

    /// Nothing is made in `parent` before there is something to keep.
    explicit Autosave(std::filesystem::path parent, std::chrono::milliseconds pause = kPause);
    ~Autosave();  ///< a write under way is finished
    Autosave(const Autosave&) = delete;
    Autosave& operator=(const Autosave&) = delete;

    /// The document as it is; `unsaved`: it would be lost. It goes with a run that is kept, and a run that it shows goes with it.
    void keep_document(std::shared_ptr<const Document> document, const std::filesystem::path& file, bool unsaved);
    /// The run as it stands; `unsaved`: it would be lost. From any thread.
    void keep_run(std::shared_ptr<const RunFolder> run, bool unsaved);
    /// Writes what is not written yet, and waits for it.
    void flush();
    /// Everything is saved or given up: what was written is removed.
    void discard();
    /// Goes on in the folder of a process that is gone, whose work is now this one's.
    void adopt(AutosaveFolder folder);
    /// Why the last write failed, "" when it did not.
    std::string problem() const;

private:
    struct Wanted {
        UnsavedWork work;
        bool document_unsaved = false, run_unsaved = false;
        UnsavedWork to_keep() const;
    };
    void run(const std::stop_token& stop);
    /// Brings the folder up to date. Throws FileError.
    void write(const UnsavedWork& work);
    /// With the lock held.
    void change(Wanted wanted);

    const std::filesystem::path parent_;
    const std::chrono::milliseconds pause_;

    mutable std::mutex mutex_;  // guards the eight below
    std::condition_variable_any changed_;
    std::condition_variable rested_;
    Wanted wanted_;
    bool dirty_ = false, hurry_ = false, writing_ = false;
    std::uint64_t attempts_ = 0;
    Clock::time_point due_{};
    std::string problem_;
    std::optional<AutosaveFolder> adopted_;  // taken over with the next write

    // The worker's own.
    std::optional<AutosaveFolder> folder_;
    UnsavedWork written_;

    std::jthread worker_;  // last: it uses everything above
};

}  // namespace attn::app
