#pragma once
/// A text as another tokenizer cuts it, beside the pieces that the model reads.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/facets/token_path.hpp"
#include "app/session/states/token.hpp"

namespace attn {
class ModelTokenizer;
}

namespace attn::app {

class KeptTokenizer;
struct Setup;

struct OtherTokens {
    /// Where the two cut the text differently for the first time; see first_difference().
    struct Difference {
        float first = 0, last = 0;                   ///< columns of the path
        std::size_t own = 0, other = 0;              ///< places of the first pieces that have no equal
        std::size_t count_own = 0, count_other = 0;  ///< pieces of each up to where both end together again
    };
    std::string name, kind;                ///< "bert", "WordPiece"
    std::int64_t vocabulary = 0;           ///< one more than the largest id
    TokenPath path;                        ///< in the columns of the own path: one for each character
    std::vector<Token> tokens;             ///< as many as its pieces
    std::optional<Difference> difference;  ///< none: both cut the text alike
};

/// Of one text of a state; of tokenizers of ours by the `kept` one. Throws Error where that has no path of its own (see token_path()),
/// ConfigError for a text that the other tokenizer cannot spell.
OtherTokens other_tokens(const Setup& setup, std::int64_t sequence, KeptTokenizer& kept, const ModelTokenizer& other, std::string name);

}  // namespace attn::app
