#pragma once
/// Describes a file or folder before it is opened. Reads only its beginning, so that it is cheap for files of any size.

#include <filesystem>

#include "app/session/files/files_state.hpp"

namespace attn::app {

/// Never throws except for lack of memory; the description says what is wrong with the file.
FilePreview preview_of(const std::filesystem::path& path);

}  // namespace attn::app
