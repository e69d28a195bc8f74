#include "engine/io/utf8.hpp"

namespace attn {
namespace {

constexpr Utf8Unit invalid(unsigned char byte) { return {byte, 1, false}; }

}  // namespace

Utf8Unit first_utf8(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1, true};
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return invalid(lead);
    char32_t point = lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) return invalid(lead);
        point = (point << 6U) | (byte(i) & 0x3FU);
    }
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    if (overlong || surrogate || point > 0x10FFFF) return invalid(lead);
    return {point, length, true};
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Unit unit = first_utf8(text.substr(at));
        if (!unit.valid) return at;
        at += unit.bytes;
    }
    return std::nullopt;
}

}  // namespace attn
