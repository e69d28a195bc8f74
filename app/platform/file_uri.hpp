#pragma once
/// File URIs, as exchanged between desktop programs.

#include <filesystem>
#include <optional>
#include <string_view>

namespace attn::app {

/// "file:///home/a%20b" -> "/home/a b", byte for byte (RFC 8089). None unless it is an absolute path on this machine.
std::optional<std::filesystem::path> path_of_uri(std::string_view uri);

}  // namespace attn::app
