#include "app/cli/piped_file.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iostream>
#include <system_error>

#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"

namespace attn::app {
namespace {

std::string read_to_end(std::istream& stream, const std::string& name, std::uint64_t max_bytes) {
    std::string contents;
    std::array<char, 1 << 16> piece{};
    while (stream) {
        stream.read(piece.data(), piece.size());
        contents.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
        if (contents.size() > max_bytes)
            throw FileError(FileFault::Limit, name, "", fmt::format("holds more than {} bytes, which is the most that is read", max_bytes));
    }
    if (!stream.eof()) throw FileError(FileFault::Io, name, "", "cannot be read");
    return contents;
}

bool is_stream(const std::filesystem::path& path) {
    std::error_code none;
    const std::filesystem::file_type type = std::filesystem::status(path, none).type();
    return type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character;
}

}  // namespace

std::string piped_name(const std::filesystem::path& path) { return path == kStandardInput ? "standard input" : escaped(path.native(), 0); }

std::string read_piped_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
    const std::string name = piped_name(path);
    if (path == kStandardInput) return read_to_end(std::cin, name, max_bytes);
    if (!is_stream(path)) return read_whole_file(path, {.max_bytes = max_bytes, .stop = {}});
    std::ifstream stream(path, std::ios::binary);
    return read_to_end(stream, name, max_bytes);
}

}  // namespace attn::app
