#pragma once

#include <filesystem>

#include "app/platform/image.hpp"

namespace attn::app {

/// Writes a PNG file atomically (see AtomicFile). Equal images give equal bytes. Throws FileError if the file cannot be written,
/// PlatformError for an image without pixels or with too many.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace attn::app
