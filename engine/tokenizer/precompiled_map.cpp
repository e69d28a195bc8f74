#include "engine/tokenizer/precompiled_map.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

constexpr std::size_t kLongestWholeGrapheme = 5;  ///< bytes

// Fields of a double-array unit, in the layout of Darts-clone.
bool has_leaf(std::uint32_t unit) { return ((unit >> 8U) & 1U) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFFU; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FFU; }
std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10U) << ((unit & (1U << 9U)) >> 6U); }

std::size_t grapheme_end(std::string_view text, std::size_t begin) {
    Utf8Unit before = first_utf8(text.substr(begin));
    std::size_t at = begin + before.bytes;
    utf8proc_int32_t state = 0;
    while (at < text.size()) {
        const Utf8Unit next = first_utf8(text.substr(at));
        if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before.code_point),
                                             static_cast<utf8proc_int32_t>(next.code_point), &state))
            break;
        before = next;
        at += next.bytes;
    }
    return at;
}

std::ptrdiff_t count_characters(std::string_view text) {
    std::ptrdiff_t count = 0;
    each_character(text, [&](char32_t, std::size_t, std::size_t) { ++count; });
    return count;
}

}  // namespace

PrecompiledMap::PrecompiledMap(std::string bytes) {
    std::uint32_t length = 0;
    if (bytes.size() >= sizeof length) std::memcpy(&length, bytes.data(), sizeof length);
    if (bytes.size() < sizeof length || length % sizeof(std::uint32_t) != 0 || length == 0 || length > bytes.size() - sizeof length)
        throw ConfigError("the compiled character map is damaged: its trie does not fit");
    units_.resize(length / sizeof(std::uint32_t));
    std::memcpy(units_.data(), bytes.data() + sizeof length, length);
    texts_ = bytes.substr(sizeof length + length);
    if (find_invalid_utf8(texts_)) throw ConfigError("the compiled character map is damaged: its texts are not UTF-8");
}

template <class Use>
void PrecompiledMap::each_front(std::string_view text, Use&& use) const {
    std::size_t node = offset_of(units_[0]);
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        node ^= byte;
        if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) return;
        const std::uint32_t unit = units_[node];
        node ^= offset_of(unit);
        if (node >= units_.size()) return;
        if (!has_leaf(unit)) continue;
        const std::size_t begin = value_of(units_[node]);
        if (begin > texts_.size()) return;
        if (!use(at + 1, std::string_view(texts_).substr(begin, texts_.find('\0', begin) - begin))) return;
    }
}

std::optional<std::string_view> PrecompiledMap::find(std::string_view chunk) const {
    std::optional<std::string_view> shortest;
    each_front(chunk, [&](std::size_t, std::string_view by) {
        shortest = by;
        return false;
    });
    return shortest;
}

std::optional<PrecompiledMap::Found> PrecompiledMap::longest(std::string_view text) const {
    std::optional<Found> found;
    each_front(text, [&](std::size_t bytes, std::string_view by) {
        // Prefixes that end inside a character do not count.
        if (bytes == text.size() || (static_cast<unsigned char>(text[bytes]) & 0xC0U) != 0x80) found = {bytes, by};
        return true;
    });
    return found;
}

AlignedText PrecompiledMap::apply(const AlignedText& text) const {
    const std::string_view all = text.text;
    std::vector<CharacterChange> changes;
    const auto replace = [&](std::string_view old, std::string_view by) {
        const std::size_t first = changes.size();
        each_character(by, [&](char32_t c, std::size_t, std::size_t) { changes.push_back({c, 0}); });
        const auto more = static_cast<std::ptrdiff_t>(changes.size() - first) - count_characters(old);
        for (std::ptrdiff_t i = 0; i < more; ++i) changes.rbegin()[i].added = 1;
        if (more < 0 && !changes.empty()) changes.back().added += more;
    };
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = grapheme_end(all, at);
        const std::string_view grapheme = all.substr(at, end - at);
        const auto whole = grapheme.size() <= kLongestWholeGrapheme ? find(grapheme) : std::nullopt;
        if (whole) replace(grapheme, *whole);
        else
            each_character(grapheme, [&](char32_t c, std::size_t begin, std::size_t stop) {
                const std::string_view character = grapheme.substr(begin, stop - begin);
                if (const auto part = find(character)) replace(character, *part);
                else changes.push_back({c, 0});
            });
        at = end;
    }
    return changed(text, changes);
}

std::optional<std::string> from_base64(std::string_view text) {
    while (text.ends_with('=')) text.remove_suffix(1);
    std::string out;
    out.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        unsigned digit = 0;
        if (c >= 'A' && c <= 'Z') digit = static_cast<unsigned>(c - 'A');
        else if (c >= 'a' && c <= 'z') digit = static_cast<unsigned>(c - 'a') + 26;
        else if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0') + 52;
        else if (c == '+') digit = 62;
        else if (c == '/') digit = 63;
        else return std::nullopt;
        bits = (bits << 6U) | digit;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        out += static_cast<char>((bits >> held) & 0xFFU);
    }
    return out;
}

}  // namespace attn
