#pragma once
/// From the strings of tokens back to text.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/json_object.hpp"

namespace attn {

/// One step, applied to the strings of all tokens. Thread-safe.
struct Decoder {
    std::string type;  ///< the name in tokenizer.json
    std::function<std::vector<std::string>(std::vector<std::string>)> apply;
};

/// Reads tokenizer.json's "decoder"; sequences are flattened. Throws FileError naming an unknown type.
std::vector<Decoder> read_decoders(JsonObject component);

/// "ByteLevel": letters to bytes; invalid UTF-8 becomes U+FFFD.
Decoder byte_level_decoder();
/// "WordPiece" with prefix "##" and cleaned-up English punctuation.
Decoder word_piece_decoder();
/// "Metaspace": "▁" to spaces; `drop_first_space` removes the one that was added before the text.
Decoder metaspace_decoder(bool drop_first_space);
/// "▁" to spaces and byte tokens to bytes; `drop_first_space` removes the space that was added before the text.
std::vector<Decoder> sentence_piece_decoders(bool drop_first_space);
/// The byte named by a token such as "<0x41>"; -1 for other tokens.
int named_byte(std::string_view token);
/// Replaces invalid UTF-8 by U+FFFD, one per maximal truncated sequence (like Rust and Python).
std::string with_replacements(std::string_view bytes);

}  // namespace attn
