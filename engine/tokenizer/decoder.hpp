#pragma once
/// From tokens' texts back to a text.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/json_object.hpp"

namespace attn {

/// One step, which takes the texts of all tokens; may be used by several threads at once.
struct Decoder {
    std::string type;  ///< as tokenizer.json names it
    std::function<std::vector<std::string>(std::vector<std::string>)> apply;
};

/// The steps of tokenizer.json's "decoder", sequences laid flat. Throws FileError naming a type that there is not.
std::vector<Decoder> read_decoders(JsonObject component);

/// "ByteLevel": letters to bytes; what is not UTF-8 then becomes U+FFFD.
Decoder byte_level_decoder();
/// "WordPiece" with "##", cleaned up as English is written.
Decoder word_piece_decoder();
/// "▁" to spaces, byte tokens to bytes; with `drop_first_space` without the space that was put before the text.
std::vector<Decoder> sentence_piece_decoders(bool drop_first_space);
/// The byte that "<0x41>" stands for, -1 for another text.
int named_byte(std::string_view token);
/// Bytes that do not form characters replaced by U+FFFD: one for the longest beginning of a character that breaks off (as Rust's and
/// Python's decoders do).
std::string with_replacements(std::string_view bytes);

}  // namespace attn
