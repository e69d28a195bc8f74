#pragma once
/// The tokenizer classes of transformers: how each makes a tokenizer of its vocabulary's files, where there is no tokenizer.json.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/tokenizer/bpe.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"
#include "engine/tokenizer/sentence_piece_file.hpp"
#include "engine/tokenizer/tokenizer_config.hpp"

namespace attn {

/// Several names may stand for one class.
enum class TokenizerClass : std::uint8_t { Gpt2, Roberta, GptNeox, Qwen2, Bert, Llama, Gemma, T5, XlmRoberta, Camembert, Plain };

/// The class that transformers 5.12 takes for a folder: the one its files name, or else that of its model type; for some types always the
/// latter. nullopt if the folder names neither. Throws FileError naming the file and a class, or a model type, that is not supported.
std::optional<TokenizerClass> tokenizer_class(const TokenizerConfig& config);

/// The files with a class's vocabulary.
enum class VocabularyFiles : std::uint8_t { Merges, Words, Pieces };
VocabularyFiles vocabulary_files(TokenizerClass kind);
/// The class's name for a file of pieces; each also takes kPiecesFile.
std::string_view pieces_file(TokenizerClass kind);
inline constexpr std::string_view kPiecesFile = "tokenizer.model";

/// vocab.json with merges.txt, for Gpt2, Roberta, GptNeox and Qwen2. Throws ConfigError.
TokenizerParts merges_tokenizer(TokenizerClass kind, const TokenizerConfig& config, Vocabulary vocabulary,
                                const std::vector<Bpe::Merge>& merges);
/// vocab.txt, for Bert. `lower` is what holds if the folder does not say. Throws ConfigError.
TokenizerParts words_tokenizer(const TokenizerConfig& config, Vocabulary words, bool lower);
/// A file of SentencePiece, for the others. Throws ConfigError.
TokenizerParts pieces_tokenizer(TokenizerClass kind, const TokenizerConfig& config, const SentencePieceFile& file);

}  // namespace attn
