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

/// GPT-2's own files: vocab.json, {"text": id, ...}, and merges.txt, a pair of tokens a line. Cut by GPT-2's split; <|endoftext|> is a
/// special token if the vocabulary has it.
std::shared_ptr<const ModelTokenizer> read_gpt2_vocabulary(const std::filesystem::path& vocabulary, const std::filesystem::path& merges);

/// The tokenizer of a folder, which has to have one, or a tokenizer.json or GGUF file by itself. Throws FileError.
std::shared_ptr<const ModelTokenizer> read_tokenizer(const std::filesystem::path& path);
/// The tokenizer of a model's folder: tokenizer.json, or else vocab.json with merges.txt; nullptr when it has neither.
std::shared_ptr<const ModelTokenizer> read_folder_tokenizer(const std::filesystem::path& folder);

}  // namespace attn
