#include "engine/io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "engine/io/input_file.hpp"

#include "engine/io/folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryPrefix = ".attnscope-", kTemporarySuffix = ".tmp";
constexpr std::size_t kPiece = 1 << 18;
/// Of a large file, so much is written before it is flushed: flushing gigabytes at the end could neither be followed nor cancelled.
constexpr std::size_t kMostUnflushed = std::size_t{64} << 20;

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : "."; }

const char* kind_of(mode_t mode) {
    if (S_ISLNK(mode)) return "is a symbolic link, which is not followed for writing: name the file itself";
    if (S_ISDIR(mode)) return "is a folder, not a file";
    return S_ISSOCK(mode) ? "is a socket, not a regular file" : "is a device or a pipe, not a regular file";
}

/// Permissions of the existing target; 0 if there is none.
unsigned checked_mode(const fs::path& target) {
    const auto refuse = [&](const std::string& problem) { return FileError(FileFault::Io, escaped(target.native(), 0), "", problem); };
    if (target.native().find('\0') != std::string::npos) throw refuse("a file name cannot hold a NUL byte");
    if (!target.has_filename()) throw refuse("is not the name of a file");
    struct stat old {};
    if (::lstat(target.c_str(), &old) == 0) {
        if (!S_ISREG(old.st_mode)) throw refuse(kind_of(old.st_mode));
        return old.st_mode & 0777U;
    }
    if (errno != ENOENT) throw refuse(fmt::format("cannot be written: {}", std::generic_category().message(errno)));
    return 0;
}

/// An unpredictable name, so that nobody can plant a file under it. Its length does not depend on the target's name, which may already be
/// the longest possible.
fs::path fresh_name(const fs::path& folder) {
    std::array<std::uint64_t, 2> random{};
    if (::getentropy(random.data(), sizeof(random)) != 0) return {};
    return folder / fmt::format("{}{:016x}{:016x}{}", kTemporaryPrefix, random[0], random[1], kTemporarySuffix);
}

/// A path to an open file that has no other.
fs::path name_of_descriptor(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

bool is_temporary(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.starts_with(kTemporaryPrefix) && name.ends_with(kTemporarySuffix);
}

/// False if another process holds the lock. Where locks are not supported, always true.
bool lock(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

}  // namespace

AtomicFile::AtomicFile(const fs::path& target, Temporary temporary) : target_(target), mode_(checked_mode(target)) { create(temporary); }

AtomicFile::AtomicFile(const fs::path& target, SecondNameOf existing) : target_(target), mode_(checked_mode(target)) {
    if (link(existing.file)) return;
    create(Temporary::Named);  // links are not supported
    try {
        InputFile from(existing.file);
        std::string piece;
        while (from.remaining() > 0) {
            piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(from.remaining(), kPiece)));
            from.read(std::as_writable_bytes(std::span(piece)));
            write(piece);
        }
        from.expect_unchanged();
    } catch (...) {
        discard();
        throw;
    }
}

AtomicFile::~AtomicFile() { discard(); }

bool AtomicFile::create_without_name() {
#ifdef O_TMPFILE
    fd_ = ::open(folder_of(target_).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, mode_ == 0 ? 0666U : mode_);
    if (fd_ < 0) return false;
    if (::access(name_of_descriptor(fd_).c_str(), F_OK) == 0 && lock(fd_)) return true;
    ::close(std::exchange(fd_, -1));
#endif
    return false;
}

void AtomicFile::create(Temporary temporary) {
    if (temporary == Temporary::Named || !create_without_name()) create_with_name();
    keep_mode();
}

void AtomicFile::keep_mode() {
    if (mode_ != 0 && ::fchmod(fd_, mode_) != 0) {
        const int number = errno;
        discard();
        fail("its permissions cannot be kept", number);
    }
}

void AtomicFile::create_with_name() {
    // Between creation and locking another program may remove the file as abandoned; then try again.
    for (int attempt = 0;; ++attempt) {
        temporary_ = fresh_name(folder_of(target_));
        constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        fd_ = temporary_.empty() ? -1 : ::open(temporary_.c_str(), kFlags, mode_ == 0 ? 0666U : mode_);
        if (fd_ < 0) {
            const int number = errno;
            temporary_.clear();
            if (number == EEXIST && attempt < 100) continue;
            fail("cannot be written", number);
        }
        struct stat made {};
        if (lock(fd_) && ::fstat(fd_, &made) == 0 && made.st_nlink > 0) break;
        discard();
        if (attempt == 100) fail("cannot be written", EAGAIN);
    }
}

void AtomicFile::give_name() {
    if (!temporary_.empty()) return;
    for (int attempt = 0; temporary_.empty(); ++attempt) {
        const fs::path name = fresh_name(folder_of(target_));
        const bool linked =
            !name.empty() && ::linkat(AT_FDCWD, name_of_descriptor(fd_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
        if (linked) temporary_ = name;
        else if (errno != EEXIST || attempt == 100) return copy_to_name();
    }
    // Some file systems do not log a file as long as it has no name.
    if (::fsync(fd_) != 0) fail("cannot be flushed to disk", errno);
}

void AtomicFile::copy_to_name() {
    const int from = std::exchange(fd_, -1);
    try {
        create_with_name();
        keep_mode();
        std::vector<std::byte> piece(kPiece);
        for (off_t at = 0;;) {
            const ssize_t got = ::pread(from, piece.data(), piece.size(), at);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) fail("cannot be read back", errno);
            if (got == 0) break;
            put(std::span(piece).first(static_cast<std::size_t>(got)));
            at += got;
        }
        flushed_ = false;
        flush();
    } catch (...) {
        ::close(from);
        throw;
    }
    ::close(from);
}

bool AtomicFile::link(const fs::path& existing) {
    temporary_ = fresh_name(folder_of(target_));
    if (!temporary_.empty() && ::link(existing.c_str(), temporary_.c_str()) == 0) return true;
    temporary_.clear();
    return false;
}

void AtomicFile::discard() noexcept {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void AtomicFile::fail(const char* action, int error_number) const {
    const std::string file = escaped(target_.native(), 0),
                      problem = fmt::format("{}: {}", action, std::generic_category().message(error_number));
    if (error_number == ENOSPC || error_number == EDQUOT) throw DiskFull(FileFault::Io, file, "", problem);
    throw FileError(FileFault::Io, file, "", problem);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    flushed_ = false;
    if (buffer_.size() + bytes.size() > kPiece) {
        put(buffer_);
        buffer_.clear();
    }
    if (bytes.size() > kPiece) put(bytes);
    else buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::put(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) fail("cannot be written", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
        unflushed_ += static_cast<std::size_t>(put);
        if (unflushed_ < kMostUnflushed) continue;
        if (::fdatasync(fd_) != 0) fail("cannot be flushed to disk", errno);
        unflushed_ = 0;
    }
}

void AtomicFile::flush() {
    if (flushed_ || fd_ < 0) return;  // a second name refers to a file that is on disk already
    put(buffer_);
    buffer_.clear();
    if (::fsync(fd_) != 0) fail("cannot be flushed to disk", errno);
    // Some file systems report a full disk only on close. The descriptor itself stays open to keep the lock.
    const int second = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (second < 0 || ::close(second) != 0) fail("cannot be closed", errno);
    flushed_ = true;
}

void AtomicFile::commit() {
    flush();
    give_name();
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be renamed into place", errno);
    // rename() leaves both names if they are links to the same file.
    if (fd_ < 0) ::unlink(temporary_.c_str());
    temporary_.clear();
    discard();
    const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;  // the folder is writable but not readable; the rename has succeeded
    const int result = ::fsync(folder);
    const int number = errno;
    ::close(folder);
    if (result != 0 && number != EINVAL) fail("is written, but its folder cannot be flushed to disk", number);
}

void write_whole_file(const fs::path& target, std::string_view contents) {
    AtomicFile file(target);
    file.write(contents);
    file.commit();
}

void remove_abandoned_files(const fs::path& folder) {
    std::error_code ignored;  // a leftover file does no harm
    for (const std::string& name : names_in_folder(folder, ignored)) {
        const fs::path file = folder / name;
        if (!is_temporary(file) || !fs::is_regular_file(file, ignored)) continue;
        const int fd = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(file.c_str());
        ::close(fd);
    }
}

}  // namespace attn
