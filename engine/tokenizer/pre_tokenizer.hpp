#pragma once
/// How a tokenizer splits a normalized text into the words that its model then processes one by one.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/tokenizer/aligned_text.hpp"

namespace attn {

/// GPT-2's split: contractions; runs of letters, of digits and of other characters, each with the space before it; white space.
inline constexpr std::string_view kGpt2Split = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// One step. Leaves added tokens alone and drops empty pieces. Thread-safe.
struct PreTokenizer {
    std::string type;  ///< the name in tokenizer.json
    std::function<void(PieceList&)> apply;
};

/// Reads tokenizer.json's "pre_tokenizer"; sequences are flattened. Throws FileError naming an unknown type.
std::vector<PreTokenizer> read_pre_tokenizers(JsonObject component);

/// "ByteLevel": GPT-2's split (with use_regex), then every byte becomes its letter.
PreTokenizer byte_level(bool add_prefix_space, bool use_regex);
/// "Split" with behavior "Isolated": keeps both the matches and the text between them. Throws ConfigError like Regex.
PreTokenizer split_isolated(std::string_view expression);
/// "WhitespaceSplit": splits at white space, which is dropped.
PreTokenizer whitespace_split();
/// "Metaspace": spaces become "▁". Another is put before every piece of text that begins with none, or only before the text's first; with
/// `cut`, the text is split before each.
enum class MetaspaceFront : std::uint8_t { Always, First, Never };
PreTokenizer metaspace(MetaspaceFront front, bool cut);
/// "Punctuation" and "Digits", which keep runs of such characters together.
PreTokenizer punctuation_runs();
PreTokenizer digit_runs();
/// "BertPreTokenizer": splits at white space, which is dropped, and at punctuation, which is kept.
PreTokenizer bert_pre_tokenizer();

}  // namespace attn
