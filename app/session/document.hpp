#pragma once
/// What the user set: a plain value from which everything on screen follows.

#include <string>
#include <vector>

#include "engine/io/tokenizer.hpp"
#include "engine/model/config.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

using attn::TokenizerKind;

struct Document {
    std::string preset;                     ///< name of the preset it started from, "" for none
    std::string look_at;                    ///< the preset's sentence saying what to look at
    std::vector<std::string> texts{""};     ///< sequences of the batch, at least one
    std::vector<std::string> source_texts;  ///< what the encoder of an encoder-decoder reads, one for each of `texts`; else empty
    TokenizerKind tokenizer = TokenizerKind::Word;
    bool special_tokens = true;  ///< ids 0 and 1 are "<pad>" and "<unk>"; off: ids begin with the first symbol
    /// Texts whose symbols make up the vocabulary, before those of `texts` themselves; a preset keeps its own text here so that ids
    /// stay put while the user types.
    std::vector<std::string> vocabulary_texts;
    /// vocab_size is derived from the texts whatever it says here; context_length 0 is derived too, any other is the user's limit.
    Config config{.context_length = 0};
    ForwardSettings forward;
    bool operator==(const Document&) const = default;
};

}  // namespace attn::app
