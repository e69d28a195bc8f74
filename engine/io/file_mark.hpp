#pragma once
/// What tells a file from another that is put in its place later, and from itself after a change.

#include <cstdint>
#include <filesystem>

namespace attn {

struct FileMark {
    std::filesystem::path path;
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const FileMark&) const = default;
};

/// The mark of what the path names now, links followed; all 0 if that is nothing.
FileMark mark_of_file(const std::filesystem::path& path);

}  // namespace attn
