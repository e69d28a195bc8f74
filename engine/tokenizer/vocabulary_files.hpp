#pragma once
/// Vocabularies as their authors first published them, where the rest of the tokenizer is known from the kind of file.

#include <string_view>

#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// GPT-2's: vocab.json, {"text": id, ...}, and merges.txt, a pair of tokens a line. Cut by GPT-2's split; <|endoftext|> is a special token
/// if the vocabulary has it. Throws FileError naming the file and the place.
TokenizerParts parse_gpt2_files(std::string_view vocabulary, std::string_view source, std::string_view merges,
                                std::string_view merges_source);

/// BERT's: vocab.txt, a piece a line, whose id is the number of the line. Throws FileError.
Vocabulary parse_bert_vocabulary(std::string_view text, std::string_view source);
/// WordPiece as BERT has it: [CLS] before the texts, [SEP] behind each, both and [UNK], [PAD], [MASK] special as far as they are there.
/// Throws ConfigError for a vocabulary without the unknown piece.
TokenizerParts bert_parts(Vocabulary pieces, const BertForm& form, std::string_view unknown = "[UNK]");
/// The form of text that a vocabulary was made for, where nothing else tells: lower case unless a piece holds a capital letter.
BertForm bert_form_of(const Vocabulary& pieces);

}  // namespace attn
