#include "engine/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace attn {
namespace {

/// The file that a chain of symbolic links names, so that saving replaces it and not the link.
std::filesystem::path follow_links(std::filesystem::path path) {
    std::error_code ignored;
    for (int hops = 0; hops < 40 && std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored)); ++hops) {
        const std::filesystem::path next = std::filesystem::read_symlink(path, ignored);
        path = next.is_absolute() ? next : path.parent_path() / next;
    }
    return path;
}

std::filesystem::path folder_of(const std::filesystem::path& file) { return file.has_parent_path() ? file.parent_path() : "."; }

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target) : target_(follow_links(target)) {
    const auto refuse = [&](const char* problem) { return FileError(FileFault::Io, escaped(target.native(), 0), "", problem); };
    if (target.native().find('\0') != std::string::npos) throw refuse("a file name cannot hold a NUL byte");
    if (!target_.has_filename()) throw refuse("is not the name of a file");
    struct stat old {};
    mode_t mode = 0666;
    if (::stat(target_.c_str(), &old) == 0) {
        if (S_ISDIR(old.st_mode)) throw refuse("is a folder, not a file");
        if (!S_ISREG(old.st_mode)) throw refuse("is a device or a pipe, not a regular file");
        mode = old.st_mode & 0777U;
    } else if (errno != ENOENT) {
        fail("cannot be written", errno);
    }
    // A fresh name each time: a temporary file left by a crash must not stop the next save. The name does not grow with the
    // target's, which may already be as long as names can be.
    for (int attempt = 0; fd_ < 0; ++attempt) {
        temporary_ = folder_of(target_) / fmt::format(".attnscope-{}-{}.tmp", ::getpid(), attempt);
        fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd_ < 0 && (errno != EEXIST || attempt == 1000)) fail("cannot be written", errno);
    }
    if (mode != 0666 && ::fchmod(fd_, mode) != 0) {
        const int number = errno;
        discard();
        fail("its permissions cannot be kept", number);
    }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
}

void AtomicFile::fail(const char* action, int error_number) const {
    throw FileError(FileFault::Io, escaped(target_.native(), 0), "",
                    fmt::format("{}: {}", action, std::generic_category().message(error_number)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) fail("cannot be written", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
}

void AtomicFile::commit() {
    if (::fsync(fd_) != 0) fail("cannot be flushed to the disk", errno);
    // Some file systems report a full disk only here. The descriptor is gone whatever close() says.
    if (::close(std::exchange(fd_, -1)) != 0) fail("cannot be closed", errno);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be given its name", errno);
    temporary_.clear();
    const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;  // a folder that may be written but not read: the rename itself has succeeded
    const int result = ::fsync(folder);
    const int number = errno;
    ::close(folder);
    if (result != 0 && number != EINVAL) fail("is written, but its folder cannot be flushed to the disk", number);
}

void write_whole_file(const std::filesystem::path& target, std::string_view contents) {
    AtomicFile file(target);
    file.write(contents);
    file.commit();
}

}  // namespace attn
