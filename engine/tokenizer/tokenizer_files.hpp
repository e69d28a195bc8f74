#pragma once
/// Reading the files in which published models bring their tokenizers.

#include <filesystem>
#include <memory>
#include <string_view>

#include "engine/io/input_file.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// Bytes of the longest file that is read: tokenizer.json of a vocabulary of 262,144 holds 33 MB.
inline constexpr std::uint64_t kMaxTokenizerFile = std::uint64_t{128} << 20;

/// tokenizer.json of the tokenizers library. Its truncation and padding are left out, as transformers does unless it is told otherwise.
/// Throws FileError naming the component that there is not, or the field at fault.
std::shared_ptr<const ModelTokenizer> read_tokenizer_json(const std::filesystem::path& path);
std::shared_ptr<const ModelTokenizer> parse_tokenizer_json(std::string_view text, std::string_view source);

/// The tokenizer of a folder, which has to have one, or of one in Hugging Face's cache, or a file by itself: tokenizer.json, a GGUF file
/// (.gguf), SentencePiece's or tiktoken's (.model, .tiktoken), BERT's vocab.txt. Throws FileError.
std::shared_ptr<const ModelTokenizer> read_tokenizer(const std::filesystem::path& path);

/// The tokenizer of a model's folder; nullptr when it has none. The first of these that is there, the rest of what they need from
/// tokenizer_config.json:
///   tokenizer.json
///   vocab.json with merges.txt     GPT-2's
///   tokenizer.model                SentencePiece's; special tokens as transformers has them if there is a tokenizer_config.json, else as
///                                  SentencePiece: none that stands in a text, none around it. Or tiktoken's, which has the same name
///   vocab.txt                      BERT's
///   NAME.tiktoken
std::shared_ptr<const ModelTokenizer> read_folder_tokenizer(const std::filesystem::path& folder);

/// Whether read_folder_tokenizer() would find one.
bool has_tokenizer(const std::filesystem::path& folder);
/// The files it looks for, as a sentence names them.
inline constexpr std::string_view kTokenizerFiles =
    "tokenizer.json, vocab.json with merges.txt, tokenizer.model, vocab.txt or a .tiktoken file";

}  // namespace attn
