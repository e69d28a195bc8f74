#pragma once
/// Numbers added tokens.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/tokenizer/added_tokens.hpp"
#include "engine/tokenizer/vocabulary.hpp"

namespace attn {

/// Adds tokens one after the other, as the tokenizers library numbers them: a token that the vocabulary has keeps its id there, any other
/// gets the next free one behind the vocabulary. What files say of ids does not count.
class AddedTokenIds {
public:
    /// `entries`: how many tokens the vocabulary has. It must outlive this.
    AddedTokenIds(const Vocabulary& vocabulary, std::int64_t entries) : vocabulary_(vocabulary), next_(entries) {}

    /// Without effect for a token without text. If it was added before, it keeps its id and gets the new flags.
    void add(AddedToken token);
    /// The id of a token that is added or in the vocabulary.
    std::optional<std::int32_t> find(std::string_view text) const;
    std::vector<AddedToken> take() { return std::move(tokens_); }

private:
    const Vocabulary& vocabulary_;
    std::int64_t next_;
    std::vector<AddedToken> tokens_;
    std::unordered_map<std::string, std::size_t> places_;  ///< in tokens_, by content
};

}  // namespace attn
