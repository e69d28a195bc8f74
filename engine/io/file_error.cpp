#include "engine/io/file_error.hpp"

#include <fmt/format.h>

#include "engine/io/utf8.hpp"

namespace attn {
namespace {

/// Characters that are invisible or change how the surrounding text is displayed.
bool is_hidden(char32_t c) {
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x061C || (c >= 0x200B && c <= 0x200F) ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) ||
           (c >= 0xE0000 && c <= 0xE0FFF);
}

std::string message(std::string_view file, std::string_view place, std::string_view problem) {
    return place.empty() ? fmt::format("{}: {}", file, problem) : fmt::format("{}, {}: {}", file, place, problem);
}

}  // namespace

std::string escaped(std::string_view text, std::size_t max_chars) {
    std::string out;
    std::size_t shown = 0;
    while (!text.empty()) {
        if (max_chars != 0 && shown++ == max_chars) return out + "…";
        const Utf8Unit unit = first_utf8(text);
        if (!unit.valid || (is_hidden(unit.code_point) && unit.code_point < 0x80)) {
            out += fmt::format("\\x{:02X}", static_cast<unsigned>(unit.code_point));
        } else if (is_hidden(unit.code_point)) {
            out += fmt::format("\\u{{{:04X}}}", static_cast<unsigned>(unit.code_point));
        } else {
            out.append(text.substr(0, unit.bytes));
        }
        text.remove_prefix(unit.bytes);
    }
    return out;
}

FileError::FileError(FileFault fault, std::string_view file, std::string_view place, std::string_view problem)
    : IoError(message(file, place, problem)), fault_(fault) {}

}  // namespace attn
