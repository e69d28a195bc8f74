#pragma once
/// The original vocabulary files of GPT-2 and BERT, whose kind implies the rest of the tokenizer.

#include <string_view>

#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// GPT-2: vocab.json, {"text": id, ...}, and merges.txt, one pair of tokens per line. Uses GPT-2's split; <|endoftext|> is a special token
/// if the vocabulary has it. Throws FileError naming the file and the place.
TokenizerParts parse_gpt2_files(std::string_view vocabulary, std::string_view source, std::string_view merges,
                                std::string_view merges_source);

/// BERT: vocab.txt, one piece per line; the line number is the id. Throws FileError.
Vocabulary parse_bert_vocabulary(std::string_view text, std::string_view source);
/// BERT's WordPiece tokenizer: [CLS] first, [SEP] after each text; these, [UNK], [PAD] and [MASK] are special tokens if the vocabulary has
/// them. Throws ConfigError for a vocabulary without the unknown piece.
TokenizerParts bert_parts(Vocabulary pieces, const BertForm& form, std::string_view unknown = "[UNK]");
/// The normalization a vocabulary was probably made for, if nothing else tells: lower case unless a piece contains a capital letter.
BertForm bert_form_of(const Vocabulary& pieces);

}  // namespace attn
