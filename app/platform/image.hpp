#pragma once

#include <cstdint>
#include <vector>

namespace attn::app {

/// RGB bytes [height, width, 3], top row first.
struct Image {
    int width = 0, height = 0;
    std::vector<std::uint8_t> pixels;
};

/// The largest width and height of a picture.
inline constexpr int kMaxImageSide = 16384;
/// The most pixels of a picture.
inline constexpr std::int64_t kMaxImagePixels = 64'000'000;

}  // namespace attn::app
