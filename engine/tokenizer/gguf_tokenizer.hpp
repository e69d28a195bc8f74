#pragma once
/// The tokenizer that a GGUF file brings in its metadata.

#include <memory>

#include "engine/io/gguf.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// From tokenizer.ggml.{model, pre, tokens, token_type, scores, merges, ...}:
///   "gpt2"   byte-level BPE, cut as `pre` says; without it as llama.cpp cuts by default, with a note
///   "llama"  SentencePiece's BPE: the pair whose piece has the highest score is joined first
///   "t5"     SentencePiece's unigram model
///   "bert"   WordPiece
/// or whole, as tokenizer.huggingface.json. Begin and end tokens as add_bos_token and add_eos_token say, or else as models of the kind have
/// them. Throws FileError naming a model or a way of cutting that there is not, and what is wrong with a key.
std::shared_ptr<const ModelTokenizer> read_gguf_tokenizer(const GgufFile& file);

/// Whether there is one to read: some files hold weights only.
bool has_gguf_tokenizer(const GgufFile& file);

}  // namespace attn
