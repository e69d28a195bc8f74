#pragma once
/// What the user set: a plain value from which everything on screen follows.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/config.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

enum class TokenizerKind : std::uint8_t { Character, Word, Byte };

struct Document {
    std::string preset;     ///< name of the preset it started from, "" for none
    std::string look_at;    ///< the preset's sentence saying what to look at
    std::vector<std::string> texts{""};  ///< sequences of the batch, at least one
    std::vector<std::string> source_texts;  ///< what the encoder of an encoder-decoder reads, one for each of `texts`; else empty
    TokenizerKind tokenizer = TokenizerKind::Word;
    /// Texts whose symbols make up the vocabulary, besides `texts` themselves; a preset keeps its own text here so that ids stay put.
    std::vector<std::string> vocabulary_texts;
    Config config;  ///< vocab_size and context_length are derived from the texts when the model is fresh
    ForwardSettings forward;
    bool operator==(const Document&) const = default;
};

}  // namespace attn::app
