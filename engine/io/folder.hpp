#pragma once
/// Lists a folder. Used instead of std::filesystem::directory_iterator, which terminates the program if an allocation fails, because it
/// allocates in a noexcept function.

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace attn {

/// Names of all entries except "." and "..", in the system's order. If reading fails, `error` is set and the list is incomplete.
std::vector<std::string> names_in_folder(const std::filesystem::path& folder, std::error_code& error);

}  // namespace attn
