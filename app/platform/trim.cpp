#include "app/platform/trim.hpp"

#include <algorithm>
#include <cstddef>

namespace attn::app {
namespace {

constexpr std::size_t kChannels = 3;

std::size_t offset(const Image& image, int x, int y) {
    return (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(x)) * kChannels;
}

bool is_ground(const Image& image, int x, int y) {
    const auto pixel = image.pixels.begin() + static_cast<std::ptrdiff_t>(offset(image, x, y));
    return std::equal(pixel, pixel + kChannels, image.pixels.begin());
}

/// The columns of a row between which everything lies that is not ground; empty (left > right) if there is nothing.
struct Span {
    int left, right;
};
Span ink_of_row(const Image& image, int y) {
    Span span{0, image.width - 1};
    while (span.left <= span.right && is_ground(image, span.left, y)) ++span.left;
    while (span.right > span.left && is_ground(image, span.right, y)) --span.right;
    return span;
}

}  // namespace

Image trimmed(const Image& image, int margin) {
    int left = image.width, right = -1, top = image.height, bottom = -1;
    for (int y = 0; y < image.height; ++y) {
        const Span ink = ink_of_row(image, y);
        if (ink.left > ink.right) continue;
        left = std::min(left, ink.left);
        right = std::max(right, ink.right);
        top = std::min(top, y);
        bottom = y;
    }
    if (right < 0) return image;
    left = std::max(left - margin, 0);
    top = std::max(top - margin, 0);
    Image out{std::min(right + margin, image.width - 1) - left + 1, std::min(bottom + margin, image.height - 1) - top + 1, {}};
    out.pixels.reserve(offset(out, 0, out.height));
    for (int y = top; y < top + out.height; ++y) {
        const auto row = image.pixels.begin() + static_cast<std::ptrdiff_t>(offset(image, left, y));
        out.pixels.insert(out.pixels.end(), row, row + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(out.width) * kChannels));
    }
    return out;
}

}  // namespace attn::app
