#pragma once

#include <cstdint>
#include <vector>

namespace attn::app {

/// RGB bytes [height, width, 3], top row first.
struct Image {
    int width = 0, height = 0;
    std::vector<std::uint8_t> pixels;
};

/// Largest width and height of a picture that is drawn or written.
inline constexpr int kMaxImageSide = 16384;
/// Most pixels of one.
inline constexpr std::int64_t kMaxImagePixels = 64'000'000;

}  // namespace attn::app
