#include "app/widgets/field_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// The private use area U+E000 to U+F8FF, in UTF-8 "\xEE\x80\x80" to "\xEF\xA3\xBF".
constexpr std::size_t kFirst = 0xE000, kLast = 0xF8FF, kRoom = kLast - kFirst + 1;

/// The index of a well-formed character within the private use area; kRoom if it is not in it.
std::size_t private_place(std::string_view character) {
    if (character.size() != 3) return kRoom;
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(character[i])); };
    const std::size_t code = (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
    return code >= kFirst && code <= kLast ? code - kFirst : kRoom;
}

/// In UTF-8; for codes from U+0800 to U+FFFF.
std::string three_bytes(unsigned code) {
    return {static_cast<char>(0xE0U | code >> 12), static_cast<char>(0x80U | (code >> 6 & 0x3FU)),
            static_cast<char>(0x80U | (code & 0x3FU))};
}

/// In UTF-8; for codes from U+10000 on.
std::string four_bytes(unsigned code) {
    return {static_cast<char>(0xF0U | code >> 18), static_cast<char>(0x80U | (code >> 12 & 0x3FU)),
            static_cast<char>(0x80U | (code >> 6 & 0x3FU)), static_cast<char>(0x80U | (code & 0x3FU))};
}

constexpr unsigned kFull = 0xFFFD;

/// Control characters with a sign of their own.
struct Sign {
    std::string_view control, sign;
};
constexpr std::array<Sign, 2> kSigns = {{{"\n", "\u21B5"}, {"\t", "\u21E5"}}};

/// Whether an ImGui field preserves this character: one of at most 16 bits that is neither a control character nor used as a stand-in.
bool survives(std::string_view character) {
    if (character.empty() || character.size() > 3 || private_place(character) != kRoom) return false;
    const auto first = static_cast<unsigned char>(character[0]);
    return first >= 0x20 && first != 0x7F && std::ranges::find(kSigns, character, &Sign::sign) == kSigns.end();
}

}  // namespace

unsigned FieldText::stand_in(std::string_view original) {
    const auto known = std::find(originals_.begin(), originals_.end(), original);
    if (known == originals_.end() && originals_.size() == kRoom) return kFull;
    const auto place = static_cast<unsigned>(known - originals_.begin());
    if (known == originals_.end()) originals_.emplace_back(original);
    return static_cast<unsigned>(kFirst) + place;
}

unsigned FieldText::typed(unsigned code) {
    const unsigned first = std::exchange(first_half_, 0);
    if (!is_half(code)) return code;
    if (code < 0xDC00) {
        first_half_ = code;
        return 0;
    }
    return first == 0 ? 0 : stand_in(four_bytes(0x10000 + ((first - 0xD800) << 10) + (code - 0xDC00)));
}

std::string FieldText::to_field(std::string_view text) {
    std::string field;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = character_length(text.substr(at));
        const std::string_view character = text.substr(at, std::max<std::size_t>(length, 1));
        const auto sign = std::ranges::find(kSigns, character, &Sign::control);
        if (sign != kSigns.end()) field += sign->sign;
        else field += length > 0 && survives(character) ? std::string(character) : three_bytes(stand_in(character));
        at += character.size();
    }
    return field;
}

std::string FieldText::from_field(std::string_view text) const {
    std::string original;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view character = text.substr(at, std::max<std::size_t>(character_length(text.substr(at)), 1));
        const std::size_t place = private_place(character);
        const auto sign = std::ranges::find(kSigns, character, &Sign::sign);
        if (sign != kSigns.end()) original += sign->control;
        else original += place < originals_.size() ? originals_[place] : std::string(character);
        at += character.size();
    }
    return original;
}

}  // namespace attn::app
