#pragma once
/// The tokenizer that a GGUF file brings in its metadata.

#include <memory>

#include "engine/io/gguf.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// From tokenizer.ggml.{model, pre, tokens, token_type, scores, merges}:
///   "gpt2"   byte-level BPE, cut as `pre` says
///   "llama"  SentencePiece's BPE: the pair whose piece has the highest score is joined first
///   "bert"   WordPiece of lower-case words
/// No template: begin and end tokens are up to the model. Throws FileError naming a model or a way of cutting that there is not, and what
/// is wrong with a key.
std::shared_ptr<const ModelTokenizer> read_gguf_tokenizer(const GgufFile& file);

}  // namespace attn
