#pragma once
/// Tokens that are cut out of a text before anything else is done with it, such as <|endoftext|>.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/tokenizer/aligned_text.hpp"
#include "engine/tokenizer/byte_trie.hpp"
#include "engine/tokenizer/normalizer.hpp"

namespace attn {

struct AddedToken {
    std::int32_t id = 0;
    std::string content;
    bool single_word = false;  ///< only where no letter or digit stands beside it
    bool lstrip = false;       ///< takes the white space before it
    bool rstrip = false;       ///< takes the white space after it
    bool normalized = false;   ///< looked for in the normalized text
    bool special = false;      ///< left out when ids are decoded to plain text
};

class AddedTokens {
public:
    AddedTokens() = default;
    AddedTokens(std::vector<AddedToken> tokens, const std::vector<Normalizer>& normalizers);

    const std::vector<AddedToken>& all() const { return tokens_; }
    /// nullptr for an id that is not an added token's.
    const AddedToken* find(std::int64_t id) const;

    /// Cuts the pieces of text at the tokens that are looked for before, or after, the text is normalized: the leftmost first, of those
    /// that begin together the longest.
    void cut(PieceList& list, bool normalized) const;
    /// Whether there are any of these.
    bool any(bool normalized) const {
        return std::any_of(tokens_.begin(), tokens_.end(), [&](const AddedToken& token) { return token.normalized == normalized; });
    }

private:
    void cut_piece(const PieceList& list, const Piece& piece, const ByteTrie& trie, std::vector<Piece>& out) const;

    std::vector<AddedToken> tokens_;
    ByteTrie raw_, normalized_;  ///< values are places in tokens_
    std::unordered_map<std::int64_t, std::size_t> by_id_;
};

/// tokenizer.json's "added_tokens".
std::vector<AddedToken> read_added_tokens(std::vector<JsonObject> list);

}  // namespace attn
