#pragma once
/// GPT-2's printable character for every byte: 33..126, 161..172 and 174..255 stand for themselves, the other 68 bytes are U+0100 and
/// up in their order, so that a space is "Ġ" and a line break "Ċ".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// The character of a byte, as UTF-8.
std::string_view byte_letter(unsigned char byte);
/// The byte of a character, nothing for one that stands for none.
std::optional<unsigned char> byte_of_letter(char32_t letter);
/// The letters of all bytes of a text.
std::string letters_of_bytes(std::string_view bytes);
/// The bytes that a text of such characters stands for; nothing when it holds another character.
std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace attn
