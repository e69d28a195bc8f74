#pragma once
/// How a tokenizer cuts a normalized text into the words that its model then takes one by one.

#include <functional>
#include <string>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/tokenizer/aligned_text.hpp"

namespace attn {

/// GPT-2's split: contractions, then runs of letters, digits and other signs, each with the space before it, then white space.
inline constexpr std::string_view kGpt2Split = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// One step; may be used by several threads at once. Added tokens among the pieces are left alone, empty pieces dropped.
struct PreTokenizer {
    std::string type;  ///< as tokenizer.json names it
    std::function<void(PieceList&)> apply;
};

/// The steps of tokenizer.json's "pre_tokenizer", sequences laid flat. Throws FileError naming a type that there is not.
std::vector<PreTokenizer> read_pre_tokenizers(JsonObject component);

/// "ByteLevel": GPT-2's split, then every byte as its letter.
PreTokenizer byte_level(bool add_prefix_space, bool use_regex);
/// "Split": cut by an expression, whose matches and what is between them stay. Throws ConfigError as Regex does.
PreTokenizer split_isolated(std::string_view expression);
/// "BertPreTokenizer": cut at white space, which goes, and at punctuation, which stays.
PreTokenizer bert_pre_tokenizer();

}  // namespace attn
