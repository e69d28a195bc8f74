#pragma once
/// A PNG file as its pixels.

#include <png.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace attn::test {

struct Picture {
    unsigned width = 0, height = 0;
    std::vector<std::uint8_t> bytes;  ///< red, green, blue of each pixel
};

inline Picture read_png(const std::string& path) {
    constexpr std::size_t kChannels = 3;
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_file(&image, path.c_str()) == 0) throw std::runtime_error(path + ": " + image.message);
    image.format = PNG_FORMAT_RGB;
    Picture read{image.width, image.height, std::vector<std::uint8_t>(std::size_t{image.width} * image.height * kChannels)};
    if (png_image_finish_read(&image, nullptr, read.bytes.data(), 0, nullptr) == 0) throw std::runtime_error(path + ": " + image.message);
    return read;
}

}  // namespace attn::test
