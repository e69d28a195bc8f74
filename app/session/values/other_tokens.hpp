#pragma once
/// A text tokenized by another tokenizer, beside the model's own pieces.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/states/token.hpp"
#include "app/session/values/facet.hpp"
#include "app/session/values/token_path.hpp"

namespace attn {
class ModelTokenizer;
}

namespace attn::app {

class KeptTokenizer;
struct Setup;

struct OtherTokens {
    /// Columns of the path.
    struct Span {
        float first = 0, last = 0;
    };
    /// The first place where the two tokenizations differ; see first_difference().
    struct Difference {
        float first = 0, last = 0;                   ///< columns of the path
        std::string text;                            ///< the typed characters
        Span own_pieces, other_pieces;               ///< what the pieces there cover; empty where one has none
        std::size_t own = 0, other = 0;              ///< indices of the first pieces that differ
        std::size_t count_own = 0, count_other = 0;  ///< how many pieces of each until both end at the same place again
    };
    std::string name;                      ///< such as "bert"
    TokenPath path;                        ///< in the columns of the model's own path, one per character
    std::vector<Token> tokens;             ///< one per piece of `path`
    std::optional<Difference> difference;  ///< none: both split the text at the same places
    /// For each of `tokens` the own piece that covers the same characters, apart from white space; -1 for none.
    std::vector<std::int32_t> twins;
    std::size_t alike = 0;         ///< how many have one that is spelled alike
    std::size_t of_other_ids = 0;  ///< how many of those have another id
    std::size_t respelled = 0;     ///< how many have one that is spelled otherwise
};

/// For one text of a state; before a decoder's text, neither tokenizer's template counts. Throws Error if the state's own tokenizer has no
/// path (see token_path()), ConfigError for a text that the other tokenizer cannot encode.
OtherTokens other_tokens(const Setup& setup, const TextOfState& which, KeptTokenizer& kept, const ModelTokenizer& other, std::string name);

namespace facet {

/// The same text tokenized by another tokenizer (a model's folder or file, or a tokenizer file). A new `opening` forces the file to be read
/// again.
struct OtherTokens {
    using Value = app::OtherTokens;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .comes_by_itself = true};  // the file has to be read first, which can take long
    TextOfState text;
    std::string file;
    std::uint64_t opening = 0;
    static Job<Value> make(const OtherTokens&, Ask& ask);
    bool operator==(const OtherTokens&) const = default;
};

}  // namespace facet

}  // namespace attn::app
