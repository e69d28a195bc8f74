#pragma once
/// What kind of tokenizer splits the texts of a model, and how much it knows.

#include <cstddef>
#include <cstdint>
#include <string>

namespace attn {
class ModelTokenizer;
}

namespace attn::app {

struct TokenizerFacts {
    std::string kind;         ///< such as "byte-level BPE" or "WordPiece"
    std::int64_t pieces = 0;  ///< one more than the largest id
    std::size_t merges = 0;   ///< 0: it joins no pairs
    std::size_t added = 0;    ///< added tokens, which are cut out before anything else
    bool operator==(const TokenizerFacts&) const = default;
};

/// Takes the same time for any size of vocabulary.
TokenizerFacts facts_of(const ModelTokenizer& tokenizer);

}  // namespace attn::app
