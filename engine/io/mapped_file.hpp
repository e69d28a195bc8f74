#pragma once
/// A file as memory: nothing is read before it is used, nothing is copied, and the system may drop what is not used.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "engine/io/input_file.hpp"

namespace attn {

/// A regular file, mapped read-only.
/// If it shrinks while it is mapped, or the disk fails, what is gone reads as zeros: a handler of SIGBUS, which knows all mappings and
/// nothing else, puts empty pages there and notes the loss. So no thread is ended wherever it was reading; whoever computed with the bytes
/// calls require_intact() before the result is used.
class MappedFile {
public:
    /// Throws FileError as InputFile does, and Io when it cannot be mapped.
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return bytes_; }
    const std::string& name() const { return file_.name(); }
    /// Throws FileError(Io) when bytes were lost, or the file was changed since it was opened.
    void require_intact() const;

private:
    InputFile file_;
    std::span<const std::byte> bytes_;
    std::size_t place_ = 0;  ///< in the handler's list
};

}  // namespace attn
