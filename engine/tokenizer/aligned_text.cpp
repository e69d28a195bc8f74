#include "engine/tokenizer/aligned_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/tensor/error.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

}  // namespace

std::string utf8_of(char32_t character) {
    const auto tail = [&](unsigned shift) { return static_cast<char>(0x80U | ((character >> shift) & 0x3FU)); };
    if (character < 0x80) return {static_cast<char>(character)};
    if (character < 0x800) return {static_cast<char>(0xC0U | (character >> 6U)), tail(0)};
    if (character < 0x10000) return {static_cast<char>(0xE0U | (character >> 12U)), tail(6), tail(0)};
    return {static_cast<char>(0xF0U | (character >> 18U)), tail(12), tail(6), tail(0)};
}

AlignedText AlignedText::of(std::string_view typed) {
    if (typed.size() > kMaxTextBytes)
        throw ConfigError(fmt::format("a text of {} bytes is too long; at most {} are accepted", typed.size(), kMaxTextBytes));
    AlignedText out;
    out.text.reserve(typed.size());
    out.origins.reserve(typed.size());
    for (std::size_t at = 0; at < typed.size();) {
        const Utf8Unit unit = first_utf8(typed.substr(at));
        const Origin origin{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + unit.bytes)};
        if (unit.valid) out.append(typed.substr(at, unit.bytes), origin);
        else out.append(kReplacement, origin);
        at += unit.bytes;
    }
    return out;
}

void AlignedText::append(std::string_view bytes, Origin origin) {
    text.append(bytes);
    origins.resize(text.size(), origin);
}

void AlignedText::append(char32_t character, Origin origin) { append(utf8_of(character), origin); }

void AlignedText::append(const AlignedText& other, std::size_t begin, std::size_t end) {
    text.append(other.text, begin, end - begin);
    origins.insert(origins.end(), other.origins.begin() + static_cast<std::ptrdiff_t>(begin),
                   other.origins.begin() + static_cast<std::ptrdiff_t>(end));
}

AlignedText changed(const AlignedText& text, const std::vector<CharacterChange>& changes) {
    AlignedText out;
    out.text.reserve(text.text.size());
    out.origins.reserve(text.text.size());
    std::size_t old = 0;
    for (const CharacterChange& change : changes) {
        Origin origin;
        if (change.added <= 0) origin = text.origins[std::min(old, text.text.size() - 1)];
        else if (old > 0) origin = text.origins[old - 1];
        out.append(change.character, origin);
        for (std::ptrdiff_t i = change.added; i <= 0 && old < text.text.size(); ++i)
            old += first_utf8(std::string_view(text.text).substr(old)).bytes;
    }
    return out;
}

}  // namespace attn
