#pragma once
/// Writing a file so that its name always holds either the old or the whole new contents.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "engine/io/file_error.hpp"

namespace attn {

/// A file under a temporary name in the target's folder. commit() flushes it to the disk and renames it to the target; without a
/// commit the destructor removes it and the target stays as it was. Every failure is a FileError(Io) naming the target.
class AtomicFile {
public:
    /// Throws when the target is something other than a regular file or its folder does not allow a new file. A symbolic link is
    /// followed: the file it names is replaced, the link stays.
    explicit AtomicFile(const std::filesystem::path& target);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    /// After it returns, the contents are on the disk under the target's name.
    void commit();

private:
    [[noreturn]] void fail(const char* action, int error_number) const;
    void discard() noexcept;

    std::filesystem::path target_, temporary_;
    int fd_ = -1;
};

/// Writes a whole small file.
void write_whole_file(const std::filesystem::path& target, std::string_view contents);

}  // namespace attn
