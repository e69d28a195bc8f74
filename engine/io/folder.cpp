#include "engine/io/folder.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "engine/io/file_error.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

FileError refusal(const fs::path& folder, const std::string& problem) { return {FileFault::Io, escaped(folder.native(), 0), "", problem}; }

}  // namespace

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

void expect_no_links(const fs::path& folder, int own_names) {
    if (own_names == 0) return;
    expect_no_links(folder.parent_path(), own_names - 1);
    std::error_code unknown;  // what cannot be examined cannot be written to either
    if (fs::is_symlink(fs::symlink_status(folder, unknown))) throw refusal(folder, "is a symbolic link, which is not followed for writing");
}

void make_folder(const fs::path& folder, int own_names) {
    expect_no_links(folder, own_names);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw refusal(folder, fmt::format("cannot be created: {}", error.message()));
}

bool make_new_folder(const fs::path& folder) {
    if (::mkdir(folder.c_str(), 0777) == 0) return true;
    if (errno == EEXIST) return false;
    throw refusal(folder, fmt::format("cannot be created: {}", std::generic_category().message(errno)));
}

}  // namespace attn
