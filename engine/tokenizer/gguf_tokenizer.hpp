#pragma once
/// The tokenizer in a GGUF file's metadata.

#include <memory>

#include "engine/io/gguf.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// From tokenizer.ggml.{model, pre, tokens, token_type, scores, merges, ...}:
///   "gpt2"   byte-level BPE, split as `pre` says; without `pre`, by llama.cpp's default, with a note
///   "llama"  SentencePiece BPE: the pair whose piece has the highest score merges first
///   "t5"     SentencePiece unigram
///   "bert"   WordPiece
/// or as a whole, from tokenizer.huggingface.json. Begin and end tokens follow add_bos_token and add_eos_token, or else what is usual for
/// the model. Throws FileError naming an unknown model or pre-tokenizer, or the key at fault.
std::shared_ptr<const ModelTokenizer> read_gguf_tokenizer(const GgufFile& file);

/// Whether the file has a tokenizer; some contain only weights.
bool has_gguf_tokenizer(const GgufFile& file);

}  // namespace attn
