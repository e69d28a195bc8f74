#pragma once

#include <filesystem>

#include "app/platform/image.hpp"

namespace attn::app {

/// The same image always gives the same bytes. Written under a temporary name and renamed; throws PlatformError naming the file.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace attn::app
