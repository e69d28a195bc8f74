#pragma once
/// Reads the tokenizer files of published models.

#include <filesystem>
#include <memory>
#include <string_view>

#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// The largest file accepted, in bytes; tokenizer.json of a vocabulary of 262,144 has 33 MB.
inline constexpr std::uint64_t kMaxTokenizerFile = std::uint64_t{128} << 20;
inline constexpr JsonLimits kTokenizerLimits{.bytes = kMaxTokenizerFile, .values = 4'000'000};

/// tokenizer.json of the tokenizers library. Truncation and padding are ignored, as in transformers by default. Throws FileError naming an
/// unknown component or the field at fault.
std::shared_ptr<const ModelTokenizer> read_tokenizer_json(const std::filesystem::path& path);
std::shared_ptr<const ModelTokenizer> parse_tokenizer_json(std::string_view text, std::string_view source);

/// The tokenizer of a folder (also in Hugging Face's cache layout), or of a single file: tokenizer.json, GGUF (.gguf), SentencePiece or
/// tiktoken (.model, .tiktoken), or BERT's vocab.txt; the last three as the settings beside them say. Throws FileError, also if the folder
/// has none.
std::shared_ptr<const ModelTokenizer> read_tokenizer(const std::filesystem::path& path);

/// The tokenizer of a model's folder; nullptr if it has none. That is tokenizer.json, or else what the class that the folder names makes of
/// its own files (tokenizer_classes.hpp). In a folder that names none, the first of these that exists:
///   vocab.json with merges.txt     GPT-2's
///   tokenizer.model                SentencePiece; without settings as in SentencePiece: special tokens match no text, none are added. Or
///                                  tiktoken, which uses the same name. Also sentencepiece.bpe.model, spiece.model
///   vocab.txt                      BERT's
///   NAME.tiktoken
std::shared_ptr<const ModelTokenizer> read_folder_tokenizer(const std::filesystem::path& folder);

/// Whether read_folder_tokenizer() would find one.
bool has_tokenizer(const std::filesystem::path& folder);
/// The files it looks for, worded for a sentence.
inline constexpr std::string_view kTokenizerFiles =
    "tokenizer.json, vocab.json with merges.txt, tokenizer.model, sentencepiece.bpe.model, spiece.model, vocab.txt or a .tiktoken file";

}  // namespace attn
