#pragma once
/// Memory-mapped files: read on demand, never copied, and evictable by the system.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "engine/io/input_file.hpp"

namespace attn {

/// A regular file, mapped read-only.
/// If the file shrinks while mapped, or the disk fails, the lost pages read as zeros: a SIGBUS handler, which knows all mappings, puts
/// empty pages there and records the loss. A reading thread is therefore never killed, but require_intact() must be called before a result
/// is used.
class MappedFile {
public:
    /// Throws FileError like InputFile, and Io if the file cannot be mapped.
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return bytes_; }
    const std::string& name() const { return file_.name(); }
    const FileMark& mark() const { return file_.mark(); }
    /// Throws FileError(Io) if bytes were lost or the file changed since it was opened.
    void require_intact() const;

private:
    InputFile file_;
    std::span<const std::byte> bytes_;
    std::size_t place_ = 0;  ///< index in the handler's table
};

}  // namespace attn
