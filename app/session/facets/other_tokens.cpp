#include "app/session/facets/other_tokens.hpp"

#include <algorithm>
#include <utility>

#include "app/session/states/state.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tokenizer/compare_tokens.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn::app {
namespace {

/// The number of characters that begin before a byte of the text.
float column_of(std::string_view text, std::size_t byte) {
    float column = 0;
    for (std::size_t at = 0; at < std::min(byte, text.size()); ++column) at += first_utf8(text.substr(at)).bytes;
    return column;
}

}  // namespace

OtherTokens other_tokens(const Setup& setup, const TextOfState& which, KeptTokenizer& kept, const ModelTokenizer& other, std::string name) {
    const auto [text, reader] = text_of(setup, which);
    const bool special = reader == Reader::Model;
    const std::shared_ptr<const ModelTokenizer> own = path_tokenizer(setup, kept);
    OtherTokens out{std::move(name), other.model_type(), other.size(), token_path(other, text, special), {}, {}};
    const Encoding ours = own->encode(text, special), theirs = other.encode(text, special);
    const std::optional<std::int32_t> unknown = other.unknown_id();
    for (const EncodedToken& token : theirs)
        out.tokens.push_back({other.token_bytes(token.id), token.id, false, unknown && token.id == *unknown});
    if (const std::optional<TokenDifference> found = first_difference(text, ours, theirs))
        // A decoder's own pieces follow its start token.
        out.difference = OtherTokens::Difference{column_of(text, found->begin),
                                                 column_of(text, found->end),
                                                 found->a + (special ? 0 : 1),
                                                 found->b,
                                                 found->count_a,
                                                 found->count_b};
    return out;
}

}  // namespace attn::app
