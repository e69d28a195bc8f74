#pragma once
/// Files as desktops name them to each other.

#include <filesystem>
#include <optional>
#include <string_view>

namespace attn::app {

/// "file:///home/a%20b" -> "/home/a b", byte for byte (RFC 8089); none for what is no absolute path on this machine.
std::optional<std::filesystem::path> path_of_uri(std::string_view uri);

}  // namespace attn::app
