#pragma once
/// A text on its way through a tokenizer, every byte of which knows where it came from.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/utf8.hpp"
#include "engine/tokenizer/regex.hpp"

namespace attn {

/// Bytes begin..end of the text that was typed.
struct Origin {
    std::uint32_t begin = 0, end = 0;
    bool operator==(const Origin&) const = default;
};

/// Valid UTF-8 with one origin a byte: that of the whole character of the typed text that the byte comes from.
struct AlignedText {
    std::string text;
    std::vector<Origin> origins;  ///< as many as bytes

    /// A typed text; a byte that is not part of valid UTF-8 becomes U+FFFD. Throws ConfigError beyond kMaxTextBytes.
    static AlignedText of(std::string_view typed);
    void append(std::string_view bytes, Origin origin);
    void append(char32_t character, Origin origin);
    /// Bytes begin..end of another text.
    void append(const AlignedText& other, std::size_t begin, std::size_t end);
};

/// A character of a changed text: one that is added (1), or one in the place of an old character and of so many more after it (0, -1, ...).
struct CharacterChange {
    char32_t character = 0;
    std::ptrdiff_t added = 0;
};
/// The text that `changes` make, with origins as the tokenizers library has them: what is added shares that of the character before, and
/// characters that change places leave their origins where they were. Characters that are removed before any other is written are not
/// counted there, so that the origins of all that follow come too early by as much; kept, to agree.
AlignedText changed(const AlignedText& text, const std::vector<CharacterChange>& changes);

/// A stretch of text that is tokenized by itself, or an added token that was cut out.
struct Piece {
    std::size_t begin = 0, end = 0;  ///< bytes of the content
    bool at_start = false;           ///< it begins where the typed text does
    std::int32_t token = -1;         ///< id of the added token that this is, -1 for text

    bool is_text() const { return token < 0; }
};

/// A text cut into pieces.
struct PieceList {
    AlignedText content;
    std::vector<Piece> pieces;
    SearchTime time{};  ///< that looking for expressions in it may still take

    std::string_view text_of(const Piece& piece) const {
        return std::string_view(content.text).substr(piece.begin, piece.end - piece.begin);
    }
};

/// The character's bytes.
std::string utf8_of(char32_t character);
/// Calls use(code point, first byte, end) for each character of valid UTF-8.
template <class Use>
void each_character(std::string_view text, Use&& use) {
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Unit unit = first_utf8(text.substr(at));
        use(unit.code_point, at, at + unit.bytes);
        at += unit.bytes;
    }
}

}  // namespace attn
