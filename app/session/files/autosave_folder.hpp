#pragma once
/// Work that is not saved, on the disk: a folder for every process, so that two windows never write over each other.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/files/files_state.hpp"
#include "engine/io/folder_lock.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {

/// What is to be kept.
struct UnsavedWork {
    std::shared_ptr<const Document> document;  ///< null: none
    std::filesystem::path file;                ///< that the document was opened from or saved as; empty: none
    std::shared_ptr<const RunFolder> run;      ///< null: none
};

/// What was read back.
struct KeptWork {
    std::optional<Document> document;
    std::filesystem::path file;
    std::filesystem::path run;  ///< the run's folder; empty: none
    std::string problem;        ///< why the document is missing although one was kept; "" when nothing is wrong
};

/// A folder that its process holds (see FolderLock) until it ends in whatever way:
/// PARENT/NAME/about.json             AutosaveWords and the document's own file
///             document.attnscope.json
///             task.txt               the text to train on, where it cannot stand in the document
///             run/                   the training run (see run_folder.hpp)
class AutosaveFolder {
public:
    /// A new one that is this process's own. Throws FileError.
    static AutosaveFolder create(const std::filesystem::path& parent);
    /// Those whose process is gone, newest first; each is held until it is destroyed. What holds nothing is removed. Never throws for what
    /// it finds.
    static std::vector<AutosaveFolder> leftovers(const std::filesystem::path& parent);

    const std::filesystem::path& path() const { return path_; }
    const AutosaveWords& words() const { return words_; }

    /// Replaces the document's part by `work`'s, each file whole or not at all. Throws FileError.
    void write_document(const UnsavedWork& work);
    /// Replaces the run, or removes it. Throws FileError.
    void write_run(const UnsavedWork& work);
    /// After both, the words about them. Throws FileError.
    void write_words(const UnsavedWork& work);
    /// What is in the folder at `path`. Throws FileError when there is nothing that can be used.
    static KeptWork read(const std::filesystem::path& path);
    /// With everything in it. What cannot be removed stays.
    void remove() noexcept;

private:
    /// The folder, unless another process holds it.
    static std::optional<AutosaveFolder> free_folder(const std::filesystem::path& path);
    /// Holds the folder; throws FileError when another process does.
    explicit AutosaveFolder(std::filesystem::path path) : path_(std::move(path)), lock_(std::make_unique<FolderLock>(path_)) {}

    std::filesystem::path path_;
    std::unique_ptr<FolderLock> lock_;
    AutosaveWords words_;
};

}  // namespace attn::app
