#pragma once
/// Tokens such as <|endoftext|> that are cut out of a text before it is processed any further.

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
    bool single_word = false;  ///< only where no letter or digit is next to it
    bool lstrip = false;       ///< includes the white space before it
    bool rstrip = false;       ///< includes the white space after it
    bool normalized = false;   ///< searched for in the normalized text
    bool special = false;      ///< omitted when ids are decoded to plain text
    bool in_text = true;       ///< found in texts; otherwise they spell it like any other text
};

class AddedTokens {
public:
    AddedTokens() = default;
    AddedTokens(std::vector<AddedToken> tokens, const std::vector<Normalizer>& normalizers);

    const std::vector<AddedToken>& all() const { return tokens_; }
    /// nullptr if the id is not that of an added token.
    const AddedToken* find(std::int64_t id) const;

    /// Splits the text pieces at the tokens that are searched for before (or, with `normalized`, after) normalization. The leftmost match
    /// wins; of several that begin there, the longest. A token may begin with white space that the one before it includes, too.
    void cut(PieceList& list, bool normalized) const;
    /// Whether there are any such tokens.
    bool any(bool normalized) const {
        return std::any_of(tokens_.begin(), tokens_.end(), [&](const AddedToken& token) { return token.normalized == normalized; });
    }

private:
    void cut_piece(const PieceList& list, const Piece& piece, const ByteTrie& trie, std::vector<Piece>& out) const;

    std::vector<AddedToken> tokens_;
    ByteTrie raw_, normalized_;  ///< values are indices into tokens_
    std::unordered_map<std::int64_t, std::size_t> by_id_;
};

/// Reads tokenizer.json's "added_tokens".
std::vector<AddedToken> read_added_tokens(std::vector<JsonObject> list);

}  // namespace attn
