#include "app/platform/png_file.hpp"

#include <fcntl.h>
#include <png.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "app/platform/platform_error.hpp"

namespace attn::app {

namespace {

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void fail(const std::filesystem::path& path, const char* why) {
    throw PlatformError(path.string() + ": cannot write the picture: " + why);
}

void write_pixels(std::FILE* file, const Image& image, const std::filesystem::path& path) {
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    png.width = static_cast<png_uint_32>(image.width);
    png.height = static_cast<png_uint_32>(image.height);
    png.format = PNG_FORMAT_RGB;
    if (png_image_write_to_stdio(&png, file, 0, image.pixels.data(), 0, nullptr) == 0) fail(path, png.message);
}

}  // namespace

void write_png(const std::filesystem::path& path, const Image& image) {
    if (image.width < 1 || image.height < 1 || image.width > kMaxImageSide || image.height > kMaxImageSide ||
        image.pixels.size() != static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height) * 3)
        fail(path, ("it is " + std::to_string(image.width) + " x " + std::to_string(image.height) + " pixels").c_str());
    std::filesystem::path temporary = path;
    temporary += ".part";
    try {
        std::unique_ptr<std::FILE, CloseFile> file(std::fopen(temporary.c_str(), "wb"));
        if (file == nullptr) fail(path, std::strerror(errno));
        write_pixels(file.get(), image, path);
        if (std::fflush(file.get()) != 0 || fsync(fileno(file.get())) != 0 || std::fclose(file.release()) != 0)
            fail(path, std::strerror(errno));
        std::error_code error;
        std::filesystem::rename(temporary, path, error);
        if (error) fail(path, error.message().c_str());
    } catch (...) {
        std::error_code ignored;  // the reason for the failure is on its way already
        std::filesystem::remove(temporary, ignored);
        throw;
    }
}

}  // namespace attn::app
