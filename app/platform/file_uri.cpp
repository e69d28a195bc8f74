#include "app/platform/file_uri.hpp"

#include <charconv>
#include <string>

namespace attn::app {
namespace {

/// Decodes a percent escape such as "%41"; none if it is invalid.
std::optional<char> escaped_byte(std::string_view text) {
    unsigned byte = 0;
    if (text.size() != 3) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + 3, byte, 16);
    if (error != std::errc() || end != text.data() + 3 || byte == 0) return std::nullopt;
    return static_cast<char>(byte);
}

}  // namespace

std::optional<std::filesystem::path> path_of_uri(std::string_view uri) {
    constexpr std::string_view kScheme = "file://", kThisMachine = "localhost";
    if (!uri.starts_with(kScheme)) return std::nullopt;
    uri.remove_prefix(kScheme.size());
    if (uri.starts_with(kThisMachine)) uri.remove_prefix(kThisMachine.size());
    if (!uri.starts_with('/')) return std::nullopt;
    std::string path;
    for (std::size_t i = 0; i < uri.size(); ++i) {
        if (uri[i] == '\0') return std::nullopt;
        if (uri[i] != '%') {
            path += uri[i];
            continue;
        }
        const std::optional<char> byte = escaped_byte(uri.substr(i, 3));
        if (!byte) return std::nullopt;
        path += *byte;
        i += 2;
    }
    return path;
}

}  // namespace attn::app
