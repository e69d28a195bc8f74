#include "engine/tokenizer/normal_form.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <new>

namespace attn {
namespace {

/// The longest decomposition of a single character has 18 (U+FDFA).
constexpr std::size_t kLongestDecomposition = 64;

struct Character {
    char32_t code_point = 0;
    std::ptrdiff_t added = 0;  ///< see CharacterChange
    int combining_class = 0;
};

int combining_class(char32_t c) { return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class; }

void decompose(char32_t c, bool compatible, std::vector<Character>& out) {
    if (c < 0x80) {
        out.push_back({c, 0, 0});
        return;
    }
    std::array<utf8proc_int32_t, kLongestDecomposition> parts{};
    int boundary = 0;
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | (compatible ? UTF8PROC_COMPAT : 0));
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), parts.size(), options, &boundary);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
        out.push_back({c, 0, combining_class(c)});
        return;
    }
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
        const auto part = static_cast<char32_t>(parts[static_cast<std::size_t>(i)]);
        out.push_back({part, i == 0 ? 0 : 1, combining_class(part)});
    }
}

/// Canonical ordering: sorts runs of marks by combining class, stably.
void order(std::vector<Character>& characters) {
    for (auto at = characters.begin(); at != characters.end();) {
        if (at->combining_class == 0) {
            ++at;
            continue;
        }
        const auto end = std::find_if(at, characters.end(), [](const Character& c) { return c.combining_class == 0; });
        std::stable_sort(at, end, [](const Character& a, const Character& b) { return a.combining_class < b.combining_class; });
        at = end;
    }
}

/// The character that two others compose to; 0 if there is none.
char32_t composed(char32_t first, char32_t second) {
    constexpr char32_t kFirstMark = 0x300;      // no character below the combining marks composes with one before it
    constexpr char32_t kBeforeFinals = 0x11A7;  // not a final consonant, although utf8proc 2.8 composes it like one
    if (second < kFirstMark || second == kBeforeFinals) return 0;
    std::array<utf8proc_int32_t, 3> pair{static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second), 0};
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    return utf8proc_normalize_utf32(pair.data(), 2, options) == 1 ? static_cast<char32_t>(pair[0]) : 0;
}

void compose(std::vector<Character>& characters) {
    std::size_t out = 0;
    std::size_t starter = characters.size();  // index of the last starter written
    for (std::size_t i = 0; i < characters.size(); ++i) {
        const Character c = characters[i];
        if (starter < out) {
            // Composition is blocked by a mark in between with the same or a higher class.
            const bool blocked = out - 1 != starter && characters[out - 1].combining_class >= c.combining_class;
            const char32_t joined = blocked ? 0 : composed(characters[starter].code_point, c.code_point);
            if (joined != 0) {
                characters[starter].code_point = joined;
                characters[starter].added += c.added - 1;
                continue;
            }
        }
        if (c.combining_class == 0) starter = out;
        characters[out++] = c;
    }
    characters.resize(out);
}

}  // namespace

AlignedText normal_form(const AlignedText& text, NormalForm form) {
    const bool compatible = form == NormalForm::KC || form == NormalForm::KD;
    std::vector<Character> characters;
    characters.reserve(text.text.size());
    each_character(text.text, [&](char32_t c, std::size_t, std::size_t) { decompose(c, compatible, characters); });
    order(characters);
    if (form == NormalForm::C || form == NormalForm::KC) compose(characters);
    std::vector<CharacterChange> changes;
    changes.reserve(characters.size());
    for (const Character& c : characters) changes.push_back({c.code_point, c.added});
    return changed(text, changes);
}

}  // namespace attn
