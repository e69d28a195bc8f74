#include "engine/io/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace attn {
namespace {

std::string error_text(int number) { return std::generic_category().message(number); }

std::int64_t modification_time(const struct stat& status) {
#if defined(__APPLE__)
    return static_cast<std::int64_t>(status.st_mtimespec.tv_sec) * 1'000'000'000 + status.st_mtimespec.tv_nsec;
#else
    return static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
#endif
}

FileMark mark_from(const std::filesystem::path& path, const struct stat& status) {
    return {path, static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
            static_cast<std::uint64_t>(status.st_size), modification_time(status)};
}

/// Closes the descriptor if the constructor throws.
struct Descriptor {
    int fd;
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
    int release() { return std::exchange(fd, -1); }
};

}  // namespace

void ByteSource::read(std::span<std::byte> out) {
    if (out.size() > remaining()) throw error(FileFault::Truncated, fmt::format("{} bytes expected, {} left", out.size(), remaining()));
    fill(out);
    position_ += out.size();
}

FileError ByteSource::error_at(FileFault fault, std::uint64_t byte, std::string_view problem) const {
    return {fault, name_, fmt::format("byte {}", byte), problem};
}

FileMark mark_of_file(const std::filesystem::path& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? mark_from(path, status) : FileMark{path};
}

bool has_entry(const std::filesystem::path& path) {
    std::error_code none;
    return std::filesystem::exists(std::filesystem::symlink_status(path, none));
}

InputFile::InputFile(const std::filesystem::path& path, ReadLimits limits) : stop_(std::move(limits.stop)) {
    name_ = escaped(path.native(), 0);
    const auto refuse = [this](FileFault fault, const std::string& problem) { return FileError(fault, name_, "", problem); };
    // An embedded NUL would silently name a different file.
    if (path.native().find('\0') != std::string::npos) throw refuse(FileFault::Io, "a file name cannot hold a NUL byte");
    Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
    if (file.fd < 0) throw refuse(FileFault::Io, "cannot be opened: " + error_text(errno));
    struct stat status {};
    if (::fstat(file.fd, &status) != 0) throw refuse(FileFault::Io, "cannot be examined: " + error_text(errno));
    if (S_ISDIR(status.st_mode)) throw refuse(FileFault::Io, "is a folder, not a file");
    if (!S_ISREG(status.st_mode)) throw refuse(FileFault::Io, "is a device or a pipe, not a regular file");
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (size_ > limits.max_bytes)
        throw refuse(FileFault::Memory, fmt::format("holds {} bytes; at most {} are read", size_, limits.max_bytes));
    mark_ = mark_from(path, status);
    fd_ = file.release();
}

InputFile::~InputFile() {
    if (fd_ >= 0) ::close(fd_);
}

void InputFile::seek(std::uint64_t position) {
    if (position > size_) throw error_at(FileFault::Truncated, position, fmt::format("lies beyond the end of a file of {} bytes", size_));
    position_ = position;
}

void InputFile::fill(std::span<std::byte> out) {
    constexpr std::size_t kPiece = std::size_t{4} << 20;  // the stop token is checked after every piece
    for (std::size_t done = 0; done < out.size();) {
        if (stop_.stop_requested()) throw Cancelled();
        const ssize_t got = ::pread(fd_, out.data() + done, std::min(kPiece, out.size() - done), static_cast<off_t>(position_ + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw error_at(FileFault::Io, position_ + done, "cannot be read: " + error_text(errno));
        if (got == 0) throw error_at(FileFault::Io, position_ + done, "the file shrank while it was being read");
        done += static_cast<std::size_t>(got);
    }
}

void InputFile::expect_unchanged() const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) throw FileError(FileFault::Io, name_, "", "cannot be examined: " + error_text(errno));
    if (static_cast<std::uint64_t>(status.st_size) != size_ || modification_time(status) != mark_.modified_ns)
        throw FileError(FileFault::Io, name_, "", "was changed while it was being read");
}

int InputFile::duplicate() const {
    const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) throw FileError(FileFault::Io, name_, "", "cannot be opened again: " + error_text(errno));
    return copy;
}

MemoryInput::MemoryInput(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes) {
    name_ = escaped(name, 0);
    size_ = bytes.size();
}

void MemoryInput::fill(std::span<std::byte> out) {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + position_, out.size());
}

std::string read_whole_file(const std::filesystem::path& path, ReadLimits limits) {
    const std::uint64_t max_bytes = limits.max_bytes;
    limits.max_bytes = ~std::uint64_t{0};
    InputFile file(path, std::move(limits));
    if (file.size() > max_bytes)
        throw FileError(FileFault::Limit, file.name(), "", fmt::format("holds {} bytes; at most {} are read", file.size(), max_bytes));
    std::string contents(static_cast<std::size_t>(file.size()), '\0');
    file.read(std::as_writable_bytes(std::span(contents)));
    file.expect_unchanged();
    return contents;
}

}  // namespace attn
