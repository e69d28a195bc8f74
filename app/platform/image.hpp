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

}  // namespace attn::app
