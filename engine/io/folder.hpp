#pragma once
/// Lists and creates folders.

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace attn {

/// Like std::filesystem::directory_iterator, which terminates the program if an allocation fails, because it allocates in a noexcept
/// function. Names of all entries except "." and "..", in the system's order. If reading fails, `error` is set and the list is incomplete.
std::vector<std::string> names_in_folder(const std::filesystem::path& folder, std::error_code& error);

/// Folders are written to through links where the user named them. But names that the program chooses itself, such as "moments", may have
/// been planted as links by whoever made the folder above them: nothing is created, written or removed behind those.
/// Throws FileError(Io) if one of the last `own_names` names of the path is a symbolic link.
void expect_no_links(const std::filesystem::path& folder, int own_names);
/// Creates the folder, and those above it, if necessary. Throws as expect_no_links(), and FileError(Io) if it cannot be created.
void make_folder(const std::filesystem::path& folder, int own_names);
/// False if something has that name already, be it a link. Throws FileError(Io).
bool make_new_folder(const std::filesystem::path& folder);

}  // namespace attn
