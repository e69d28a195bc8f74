#pragma once
/// Listing a folder. The standard library's directory_iterator allocates memory where it must not throw, so that an allocation that
/// fails there ends the program.

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace attn {

/// Names of everything in the folder but "." and "..", in the system's order. `error` tells why it could not be read to the end.
std::vector<std::string> names_in_folder(const std::filesystem::path& folder, std::error_code& error);

}  // namespace attn
