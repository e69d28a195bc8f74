#include "app/platform/png_file.hpp"

#include <png.h>

#include <string>

#include "app/platform/platform_error.hpp"
#include "engine/io/atomic_file.hpp"

namespace attn::app {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
    throw PlatformError(path.string() + ": cannot write the picture: " + why);
}

std::string encoded(const std::filesystem::path& path, const Image& image) {
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    png.width = static_cast<png_uint_32>(image.width);
    png.height = static_cast<png_uint_32>(image.height);
    png.format = PNG_FORMAT_RGB;
    std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(png), '\0');
    png_alloc_size_t size = bytes.size();
    if (png_image_write_to_memory(&png, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) == 0) fail(path, png.message);
    bytes.resize(size);
    return bytes;
}

}  // namespace

void write_png(const std::filesystem::path& path, const Image& image) {
    if (image.width < 1 || image.height < 1 || image.width > kMaxImageSide || image.height > kMaxImageSide ||
        image.pixels.size() != static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height) * 3)
        fail(path, "it is " + std::to_string(image.width) + " x " + std::to_string(image.height) + " pixels");
    write_whole_file(path, encoded(path, image));
}

}  // namespace attn::app
