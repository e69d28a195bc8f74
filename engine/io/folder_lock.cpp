#include "engine/io/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "engine/io/file_error.hpp"

namespace attn {

FolderLock::FolderLock(const std::filesystem::path& folder) : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    const auto refuse = [&](const std::string& problem) { return FileError(FileFault::Io, escaped(folder.native(), 0), "", problem); };
    if (fd_ < 0) throw refuse(fmt::format("cannot be opened as a folder: {}", std::generic_category().message(errno)));
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(fd_);
    throw refuse("another process is writing a training run into this folder: wait until it has ended, or choose another folder");
}

FolderLock::~FolderLock() { ::close(fd_); }

}  // namespace attn
