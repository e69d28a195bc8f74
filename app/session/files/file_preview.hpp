#pragma once
/// A look at what a file or folder is before it is opened: at its beginning, so that it costs next to nothing whatever its size.

#include <filesystem>

#include "app/session/files/files_state.hpp"

namespace attn::app {

/// Never throws but for want of memory: what is wrong with the file is said in its words.
FilePreview preview_of(const std::filesystem::path& path);

}  // namespace attn::app
