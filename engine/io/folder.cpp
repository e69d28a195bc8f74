#include "engine/io/folder.hpp"

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace attn {

std::vector<std::string> names_in_folder(const std::filesystem::path& folder, std::error_code& error) {
    error.clear();
    std::vector<std::string> names;
    const auto close = [](DIR* open) { ::closedir(open); };
    const std::unique_ptr<DIR, decltype(close)> listing(::opendir(folder.c_str()), close);
    if (listing == nullptr) {
        error = {errno, std::generic_category()};
        return names;
    }
    errno = 0;  // readdir() returns null both at the end and on failure; only errno differs
    while (const dirent* entry = ::readdir(listing.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
        errno = 0;
    }
    if (errno != 0) error = {errno, std::generic_category()};
    return names;
}

}  // namespace attn
