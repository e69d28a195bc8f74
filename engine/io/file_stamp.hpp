#pragma once
/// Tells whether a file is still the one that was read or written here.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

namespace attn {

/// Differs once the file was written to or replaced by another.
struct FileStamp {
    std::uint64_t device = 0, inode = 0, bytes = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const FileStamp&) const = default;
};
/// None if nothing is there, or if it cannot be examined.
std::optional<FileStamp> stamp_of(const std::filesystem::path& path);

/// The path from the root, without "." and ".." and a slash at its end.
std::filesystem::path full_path(const std::filesystem::path& path);

/// By full path.
using FileStamps = std::map<std::filesystem::path, FileStamp>;

}  // namespace attn
