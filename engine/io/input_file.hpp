#pragma once
/// Byte sources for readers: a regular file whose size is known before anything is allocated, or memory.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/io/file_error.hpp"
#include "engine/io/file_mark.hpp"

namespace attn {

/// Limits for a reader.
struct ReadLimits {
    std::uint64_t max_bytes = std::uint64_t{4} << 30;  ///< larger files are refused unread
    std::stop_token stop;                              ///< requesting it makes the reader throw Cancelled
};

/// A sequence of bytes of known length.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;

    /// Name for messages, safe to display.
    const std::string& name() const { return name_; }
    std::uint64_t size() const { return size_; }
    std::uint64_t position() const { return position_; }
    std::uint64_t remaining() const { return size_ - position_; }
    /// Fills `out` and advances. Throws FileError(Truncated) if fewer bytes remain, FileError(Io) if the system fails.
    void read(std::span<std::byte> out);
    /// An error at the current position.
    FileError error(FileFault fault, std::string_view problem) const { return error_at(fault, position_, problem); }
    FileError error_at(FileFault fault, std::uint64_t byte, std::string_view problem) const;

protected:
    ByteSource() = default;
    /// Fills `out`, which never extends beyond size().
    virtual void fill(std::span<std::byte> out) = 0;

    std::string name_;
    std::uint64_t size_ = 0;
    std::uint64_t position_ = 0;
};

/// Whether the folder lists this name, be it a link to nothing or no regular file: opening it then says what is wrong with it.
bool has_entry(const std::filesystem::path& path);

/// A regular file, read with read() rather than mapped, so that a file that shrinks causes an error and not a signal.
class InputFile final : public ByteSource {
public:
    /// Throws FileError: Io if the file is missing, unreadable or not regular (opening never blocks on a FIFO), Memory if it is larger than
    /// limits.max_bytes.
    explicit InputFile(const std::filesystem::path& path, ReadLimits limits = {});
    ~InputFile() override;

    void seek(std::uint64_t position);
    /// Throws FileError(Io) if the file changed since it was opened.
    void expect_unchanged() const;
    /// As it was opened.
    const FileMark& mark() const { return mark_; }
    /// A duplicate of the file descriptor, owned by the caller.
    int duplicate() const;

private:
    void fill(std::span<std::byte> out) override;

    int fd_ = -1;
    FileMark mark_;
    std::stop_token stop_;
};

/// Bytes in memory, which must outlive this object.
class MemoryInput final : public ByteSource {
public:
    MemoryInput(std::span<const std::byte> bytes, std::string_view name);

private:
    void fill(std::span<std::byte> out) override;
    std::span<const std::byte> bytes_;
};

/// Reads a whole file. Throws like InputFile; a file beyond limits.max_bytes is FileError(Limit).
std::string read_whole_file(const std::filesystem::path& path, ReadLimits limits);

}  // namespace attn
