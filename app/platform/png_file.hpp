#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace attn::app {

/// RGB bytes [height, width, 3], top row first.
struct Image {
    int width = 0, height = 0;
    std::vector<std::uint8_t> pixels;
};

/// Largest width and height of a picture that is drawn or written.
inline constexpr int kMaxImageSide = 16384;

/// The same image always gives the same bytes. Written under a temporary name and renamed; throws PlatformError naming the file.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace attn::app
