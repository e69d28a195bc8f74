#pragma once
/// Files that may also be pipes, or standard input.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace attn::app {

/// How an option names standard input.
inline constexpr std::string_view kStandardInput = "-";

/// "standard input", or the path, safe to display.
std::string piped_name(const std::filesystem::path& path);

/// All bytes of a file, of a pipe up to its end, or of standard input. Throws FileError: Io if it cannot be read, Limit beyond `max_bytes`.
std::string read_piped_file(const std::filesystem::path& path, std::uint64_t max_bytes);

}  // namespace attn::app
