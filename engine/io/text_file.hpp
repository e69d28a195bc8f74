#pragma once
/// Reads a user's text file.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/io/input_file.hpp"

namespace attn {

struct TextFile {
    std::string text;                ///< UTF-8 without byte order mark, LF line ends
    std::vector<std::string> notes;  ///< what was changed or is unusual, one sentence each
};

/// Throws FileError: Limit beyond limits.max_bytes, Unsupported for UTF-16 and UTF-32, Format for binary data (a NUL byte). Invalid UTF-8
/// is kept, with a note.
TextFile read_text_file(const std::filesystem::path& path, ReadLimits limits = {.max_bytes = std::uint64_t{64} << 20, .stop = {}});

}  // namespace attn
