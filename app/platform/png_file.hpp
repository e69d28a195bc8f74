#pragma once

#include <filesystem>

#include "app/platform/image.hpp"

namespace attn::app {

/// The same image always gives the same bytes. Written atomically (see AtomicFile). Throws FileError when it cannot be written,
/// PlatformError for an image without pixels or with too many.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace attn::app
