#pragma once
/// Byte-pair encoding: the characters of a word, joined pair by pair, the pair with the lowest rank first.
/// Sennrich et al. 2016; byte fallback and whole words first as in the tokenizers library, models/bpe.

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/tokenizer/byte_trie.hpp"
#include "engine/tokenizer/token_model.hpp"

namespace attn {

struct BpeOptions {
    std::string unknown;                    ///< token for a character without one; "": it is left out
    std::string continuing_prefix, suffix;  ///< before every character but a word's first, after its last
    bool fuse_unknown = false;              ///< a run of unknown characters is one token
    bool byte_fallback = false;             ///< an unknown character as tokens <0x00> to <0xFF> of its bytes
    bool whole_words_first = false;         ///< a word that is a token is not built from pairs ("ignore_merges")
    std::vector<std::string> kept_whole;    ///< tokens that are found before characters are joined, and not joined themselves
};

/// Two tokens that are joined to a third, the lowest rank first.
struct BpeJoin {
    std::int32_t left = 0, right = 0, whole = 0, rank = 0;
};
/// Every way of making the tokens that have a rank from two others: where the order of the tokens, and no list of merges, says what is
/// joined. Throws ConfigError for a token of more than 1024 bytes.
std::vector<BpeJoin> joins_of_pieces(const Vocabulary& vocabulary, const std::vector<std::optional<std::int32_t>>& ranks);

class Bpe final : public TokenModel {
public:
    using Merge = std::pair<std::string, std::string>;

    /// `merges` by falling priority. Throws ConfigError for a merge of tokens, or into one, that the vocabulary lacks, and for an unknown
    /// token that it lacks.
    Bpe(Vocabulary vocabulary, const std::vector<Merge>& merges, BpeOptions options);
    /// The same by ids, which have to be in the vocabulary.
    Bpe(Vocabulary vocabulary, const std::vector<BpeJoin>& joins, BpeOptions options);

    void encode(std::string_view word, std::vector<WordToken>& out) const override;
    WordTrace trace(std::string_view word) const override;
    const char* type() const override { return "BPE"; }
    std::optional<std::int32_t> unknown() const override { return unknown_; }

private:
    struct Join {
        std::int32_t rank = 0, id = 0;
    };
    struct Symbol {
        std::int32_t id = 0;
        std::int32_t previous = -1, next = -1;
        std::uint32_t begin = 0, end = 0;  ///< empty once it was joined to the one before
        bool kept = false;                 ///< never joined
    };

    Bpe(Vocabulary vocabulary, BpeOptions options);
    /// Bytes of the longest token at the front of a text that is kept whole; 0 for none.
    std::size_t kept_bytes(std::string_view text) const;
    std::vector<Symbol> characters_of(std::string_view word) const;
    /// Calls before_join(place of the left symbol) before each join.
    template <class BeforeJoin>
    void join_pairs(std::vector<Symbol>& symbols, BeforeJoin&& before_join) const;
    std::optional<WordTrace::Pair> pair_at(const std::vector<Symbol>& symbols, std::int32_t left) const;
    const Join* join_of(std::int32_t left, std::int32_t right) const;

    BpeOptions options_;
    std::optional<std::int32_t> unknown_;
    std::unordered_map<std::uint64_t, Join> joins_;
    ByteTrie kept_;
};

/// tokenizer.json's model of type BPE.
std::unique_ptr<TokenModel> read_bpe(JsonObject& json);

}  // namespace attn
