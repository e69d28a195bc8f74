#pragma once
/// Autosaved work on disk. Every process has its own folder, so that two windows never overwrite each other's work.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/files/files_state.hpp"
#include "engine/io/folder_lock.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {

/// A run to save.
struct UnsavedRun {
    std::uint64_t number = 0;                     ///< in the session, and in the document
    std::uint64_t version = 0;                    ///< changes with its contents
    std::shared_ptr<const RunFolder> contents{};  ///< null: those of this version are written, or its own file has them
    std::string file{};                           ///< its own file; "": none
    std::string words{};                          ///< such as "Copy, step 312"
    bool unsaved = false;                         ///< it would otherwise be lost
    /// Its own file has it as it is.
    bool in_file() const { return !unsaved && !file.empty(); }
    bool operator==(const UnsavedRun& other) const {
        return number == other.number && version == other.version && file == other.file && unsaved == other.unsaved;
    }
};

/// The work to save.
struct UnsavedWork {
    std::shared_ptr<const Document> document;  ///< null: none
    std::filesystem::path file;                ///< the document's own file; empty: none
    std::vector<UnsavedRun> runs;              ///< the current one last
    std::optional<Look> look{};                ///< where the document is looked at
};

/// A run of work read back.
struct RunOfWork {
    std::uint64_t number = 0;     ///< in the document
    std::filesystem::path place;  ///< its folder or checkpoint
    std::string file{};           ///< if it is an autosave: its own file; "": none
    bool autosaved = false;       ///< otherwise it is opened from its own file
};

/// The work read back.
struct KeptWork {
    std::optional<Document> document;
    std::filesystem::path file;
    std::vector<RunOfWork> runs;          ///< in the order in which they are to be opened
    bool opened = false;                  ///< not restored: a document that was opened, with the runs that it names
    std::string problem;                  ///< why a saved document could not be read; "" if there was no problem
    std::vector<std::string> left_out{};  ///< see document_from_json()
};

/// A folder locked by its process (see FolderLock) until that process ends, however it ends:
/// PARENT/NAME/about.json             AutosaveWords, the own file of the document, and the runs in their order, with their own files
///             document.attnscope.json
///             task.txt               the training text, if the document cannot contain it
///             run-N/                 a training run (see run_folder.hpp)
class AutosaveFolder {
public:
    /// Creates and locks a new folder for this process. Throws FileError.
    static AutosaveFolder create(const std::filesystem::path& parent);
    /// The folders of processes that have ended, newest first, locked until destroyed. Empty ones are removed. Damaged contents never cause
    /// an exception. Throws FileError if the parent is a symbolic link (see expect_no_links()).
    static std::vector<AutosaveFolder> leftovers(const std::filesystem::path& parent);

    const std::filesystem::path& path() const { return path_; }
    const AutosaveWords& words() const { return words_; }

    /// Writes or removes the document's files, each atomically. Throws FileError.
    void write_document(const UnsavedWork& work);
    /// Writes a run. `named`: steps that the document names. Throws FileError.
    void write_run(const UnsavedRun& run, const std::set<std::int64_t>& named);
    /// Removes the runs that are not among these.
    void remove_runs_except(const std::vector<UnsavedRun>& runs);
    /// Writes about.json; to be called after the other two. Throws FileError.
    void write_words(const UnsavedWork& work);
    /// Reads the work in the folder at `path`. Throws FileError if nothing in it is usable.
    static KeptWork read(const std::filesystem::path& path);
    /// Removes the folder and its contents, as far as possible.
    void remove() noexcept;

private:
    /// Locks the folder; none if another process holds it.
    static std::optional<AutosaveFolder> free_folder(const std::filesystem::path& path);
    /// Locks the folder; throws FileError if another process holds it.
    explicit AutosaveFolder(std::filesystem::path path) : path_(std::move(path)), lock_(std::make_unique<FolderLock>(path_)) {}

    std::filesystem::path path_;
    std::unique_ptr<FolderLock> lock_;
    AutosaveWords words_;
};

}  // namespace attn::app
