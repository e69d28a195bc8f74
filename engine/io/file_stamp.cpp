#include "engine/io/file_stamp.hpp"

#include <sys/stat.h>

namespace attn {

std::optional<FileStamp> stamp_of(const std::filesystem::path& path) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
    constexpr std::int64_t kSecond = 1'000'000'000;
    return FileStamp{found.st_dev, found.st_ino, static_cast<std::uint64_t>(found.st_size),
                     found.st_mtim.tv_sec * kSecond + found.st_mtim.tv_nsec};
}

std::filesystem::path full_path(const std::filesystem::path& path) {
    const std::filesystem::path full = std::filesystem::absolute(path).lexically_normal();
    return full.has_filename() ? full : full.parent_path();
}

}  // namespace attn
