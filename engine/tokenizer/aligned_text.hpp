#pragma once
/// A text on its way through a tokenizer, with the origin of every byte in the typed text.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/utf8.hpp"
#include "engine/tokenizer/regex.hpp"

namespace attn {

/// Bytes [begin, end) of the typed text.
struct Origin {
    std::uint32_t begin = 0, end = 0;
    bool operator==(const Origin&) const = default;
};

/// Valid UTF-8 with an origin per byte: the whole typed character that the byte comes from.
struct AlignedText {
    std::string text;
    std::vector<Origin> origins;  ///< one per byte

    /// From typed text. Bytes that are not valid UTF-8 become U+FFFD. Throws ConfigError beyond kMaxTextBytes.
    static AlignedText of(std::string_view typed);
    void append(std::string_view bytes, Origin origin);
    void append(char32_t character, Origin origin);
    /// Appends bytes [begin, end) of another text.
    void append(const AlignedText& other, std::size_t begin, std::size_t end);
};

/// A character of a changed text. `added` is 1 for an inserted character, or minus the number of old characters it replaces beyond the
/// first (0, -1, ...).
struct CharacterChange {
    char32_t character = 0;
    std::ptrdiff_t added = 0;
};
/// Applies `changes` to the text, with the origins that the tokenizers library gives: an inserted character shares the origin of the one
/// before, and reordered characters leave the origins in place. Characters removed before the first written one are not counted, so the
/// origins after them are too early by as many; reproduced to agree with the library.
AlignedText changed(const AlignedText& text, const std::vector<CharacterChange>& changes);

/// A stretch of text that is tokenized separately, or an added token that was cut out.
struct Piece {
    std::size_t begin = 0, end = 0;  ///< byte range in the content
    bool at_start = false;           ///< begins where the typed text begins
    std::int32_t token = -1;         ///< id of the added token; -1 for text

    bool is_text() const { return token < 0; }
};

/// A text cut into pieces.
struct PieceList {
    AlignedText content;
    std::vector<Piece> pieces;
    SearchWork work{};  ///< left for regular expressions on this text

    std::string_view text_of(const Piece& piece) const {
        return std::string_view(content.text).substr(piece.begin, piece.end - piece.begin);
    }
};

/// UTF-8 encoding of a character.
std::string utf8_of(char32_t character);
/// Calls use(code point, first byte, end) for every character of valid UTF-8.
template <class Use>
void each_character(std::string_view text, Use&& use) {
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Unit unit = first_utf8(text.substr(at));
        use(unit.code_point, at, at + unit.bytes);
        at += unit.bytes;
    }
}

}  // namespace attn
