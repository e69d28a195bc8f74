#pragma once
/// The original vocabulary files of GPT-2 and BERT.

#include <string_view>
#include <vector>

#include "engine/tokenizer/bpe.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// GPT-2's vocab.json, {"text": id, ...}, and merges.txt, one pair of tokens per line. Throw FileError naming the file and the place.
Vocabulary parse_json_vocabulary(std::string_view text, std::string_view source);
std::vector<Bpe::Merge> parse_merges(std::string_view text, std::string_view source);

/// BERT: vocab.txt, one piece per line; the line number is the id. Throws FileError.
Vocabulary parse_bert_vocabulary(std::string_view text, std::string_view source);
/// BERT's WordPiece tokenizer: [CLS] first, [SEP] after each text; these, [UNK], [PAD] and [MASK] are special tokens if the vocabulary has
/// them. Throws ConfigError for a vocabulary without the unknown piece.
TokenizerParts bert_parts(Vocabulary pieces, const BertForm& form, std::string_view unknown = "[UNK]");
/// The normalization a vocabulary was probably made for, if nothing else tells: lower case unless a piece contains a capital letter.
BertForm bert_form_of(const Vocabulary& pieces);

}  // namespace attn
