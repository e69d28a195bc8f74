#include "app/cli/terminal_text.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"

namespace attn::app {
namespace {

/// Whether the bytes begin a character of which more is to come.
bool is_incomplete(std::string_view bytes) {
    const auto lead = static_cast<unsigned char>(bytes.front());
    const std::size_t whole = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    if (lead > 0xF4 || bytes.size() >= whole) return false;
    for (const char byte : bytes.substr(1))
        if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) return false;
    return true;
}

/// Joiners of letters and of emoji are invisible, but part of ordinary text.
bool is_joiner(const Utf8Unit& unit) { return unit.valid && (unit.code_point == 0x200C || unit.code_point == 0x200D); }

}  // namespace

std::string TerminalText::add(std::string_view piece) {
    const std::string text = waiting_.append(piece);
    std::string out;
    std::string_view rest = text;
    while (!rest.empty()) {
        const Utf8Unit unit = first_utf8(rest);
        if (!unit.valid && is_incomplete(rest)) break;
        const std::string_view character = rest.substr(0, unit.bytes);
        const bool plain = character == "\n" || character == "\t" || is_joiner(unit);
        out += plain ? std::string(character) : escaped(character, 0);
        rest.remove_prefix(unit.bytes);
    }
    waiting_ = rest;
    return out;
}

std::string TerminalText::end() {
    std::string left = escaped(waiting_, 0);
    waiting_.clear();
    return left;
}

std::string json_line(const Json& json) {
    const std::string text = json.dump(-1, Json::InvalidUtf8::Replace);
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
        if (rest.front() >= ' ' && rest.front() <= '~') {
            out += rest.front();
            rest.remove_prefix(1);
            continue;
        }
        const Utf8Unit unit = first_utf8(rest);
        const std::string_view character = rest.substr(0, unit.bytes);
        const auto code = static_cast<std::uint32_t>(unit.code_point);
        if (escaped(character, 0) == character) out += character;
        else if (code < 0x10000) out += fmt::format("\\u{:04x}", code);
        else out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10U), 0xDC00 + ((code - 0x10000) & 0x3FFU));
        rest.remove_prefix(unit.bytes);
    }
    return out;
}

}  // namespace attn::app
