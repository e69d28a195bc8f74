#pragma once
/// One writer at a time in a folder.

#include <filesystem>

namespace attn {

/// Holds the folder for this object alone, against other processes and other objects of this one. The system takes the lock back when
/// the process ends, however it ends, so that none is ever left behind. File systems without such locks grant it to everybody.
class FolderLock {
public:
    /// Throws FileError(Io) when the folder is held by somebody else or cannot be opened.
    explicit FolderLock(const std::filesystem::path& folder);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int fd_;
};

}  // namespace attn
