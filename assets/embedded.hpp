#pragma once
/// Files that the program carries inside itself.

#include <span>
#include <string_view>

namespace attn::app {

struct EmbeddedFile {
    std::string_view name;   ///< path below its folder, such as "presets/gpt-tiny.json"
    std::string_view bytes;  ///< followed by a zero byte
};

/// Everything in assets/ except sources, by its path below assets/, in the order of names.
std::span<const EmbeddedFile> embedded_assets();
/// "inter.otf", "inter-semibold.otf", "mono.ttf", "math.ttf".
std::span<const EmbeddedFile> embedded_fonts();
/// Everything in shaders/, by its file name.
std::span<const EmbeddedFile> embedded_shaders();

/// The file of that name, or nullptr.
inline const EmbeddedFile* find_embedded(std::span<const EmbeddedFile> files, std::string_view name) {
    for (const EmbeddedFile& file : files)
        if (file.name == name) return &file;
    return nullptr;
}

}  // namespace attn::app
