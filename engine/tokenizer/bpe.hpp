#pragma once
/// Byte-pair encoding: the characters of a word, joined pair by pair, the pair with the lowest rank first.
/// Sennrich et al. 2016; byte fallback and whole words first as in the tokenizers library, models/bpe.

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/tokenizer/token_model.hpp"

namespace attn {

struct BpeOptions {
    std::string unknown;                    ///< token for a character without one; "": it is left out
    std::string continuing_prefix, suffix;  ///< before every character but a word's first, after its last
    bool fuse_unknown = false;              ///< a run of unknown characters is one token
    bool byte_fallback = false;             ///< an unknown character as tokens <0x00> to <0xFF> of its bytes
    bool whole_words_first = false;         ///< a word that is a token is not built from pairs ("ignore_merges")
};

class Bpe final : public TokenModel {
public:
    using Merge = std::pair<std::string, std::string>;

    /// `merges` by falling priority. Throws ConfigError for a merge of tokens, or into one, that the vocabulary lacks, and for an unknown
    /// token that it lacks.
    Bpe(Vocabulary vocabulary, const std::vector<Merge>& merges, BpeOptions options);

    void encode(std::string_view word, std::vector<WordToken>& out) const override;
    const char* type() const override { return "BPE"; }

private:
    struct Join {
        std::int32_t rank = 0, id = 0;
    };
    struct Symbol {
        std::int32_t id = 0;
        std::int32_t previous = -1, next = -1;
        std::uint32_t begin = 0, end = 0;  ///< empty once it was joined to the one before
    };

    std::vector<Symbol> characters_of(std::string_view word) const;
    void join_pairs(std::vector<Symbol>& symbols) const;
    const Join* join_of(std::int32_t left, std::int32_t right) const;

    BpeOptions options_;
    std::optional<std::int32_t> unknown_;
    std::unordered_map<std::uint64_t, Join> joins_;
};

/// tokenizer.json's model of type BPE.
std::unique_ptr<TokenModel> read_bpe(JsonObject& json);

}  // namespace attn
