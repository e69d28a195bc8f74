#pragma once
/// Ensures that a folder has only one writer at a time.

#include <filesystem>

namespace attn {

/// An exclusive lock on a folder, against other processes and other objects in this one. The system releases it when the process ends for
/// whatever reason, so no stale lock remains. File systems without such locks always grant it.
class FolderLock {
public:
    /// Throws FileError(Io) if the folder is locked or cannot be opened.
    explicit FolderLock(const std::filesystem::path& folder);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int fd_;
};

}  // namespace attn
