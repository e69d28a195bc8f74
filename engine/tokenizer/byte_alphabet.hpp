#pragma once
/// GPT-2's printable character for every byte: 33..126, 161..172 and 174..255 stand for themselves; the other 68 bytes become U+0100 and
/// up, in order, so that a space is "Ġ" and a line break "Ċ".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// The letter of a byte, in UTF-8.
std::string_view byte_letter(unsigned char byte);
/// The byte of a letter; nullopt if it stands for none.
std::optional<unsigned char> byte_of_letter(char32_t letter);
/// The letters of all bytes.
std::string letters_of_bytes(std::string_view bytes);
/// The bytes that a text of such letters stands for; nullopt if it contains any other character.
std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace attn
