#pragma once
/// Byte-pair encoding: merges the characters of a word pair by pair, lowest rank first (Sennrich et al., 2016). Byte fallback and
/// ignore_merges work as in the tokenizers library, models/bpe.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/tokenizer/byte_trie.hpp"
#include "engine/tokenizer/token_model.hpp"

namespace attn {

struct BpeOptions {
    std::string unknown;                    ///< token for characters without one; "": they are dropped
    std::string continuing_prefix, suffix;  ///< before every character except a word's first; after its last
    bool fuse_unknown = false;              ///< a run of unknown characters becomes one token
    bool byte_fallback = false;             ///< unknown characters become tokens <0x00> to <0xFF> for their bytes
    bool whole_words_first = false;         ///< a word that is itself a token is not merged from pairs ("ignore_merges")
    std::vector<std::string> kept_whole;    ///< tokens that are matched before merging and never merged
    std::vector<std::string> letters;       ///< characters without a token that merge nevertheless; those left alone are unknown
};

/// Two tokens that merge into a third; lower ranks merge first.
struct BpeJoin {
    std::int32_t left = 0, right = 0, whole = 0, rank = 0;
};
/// Every way to form a token that has a rank from two other tokens, for vocabularies whose token order implies the merges: by ascending id
/// of the whole, shorter left parts first. Letters count as tokens with the ids behind the vocabulary's. Throws ConfigError for a token of
/// more than 1024 bytes.
std::vector<BpeJoin> joins_of_pieces(const Vocabulary& vocabulary, const std::vector<std::optional<std::int32_t>>& ranks,
                                     const std::vector<std::string>& letters = {});

class Bpe final : public TokenModel {
public:
    using Merge = std::pair<std::string, std::string>;

    /// `merges` are in order of priority, highest first. Throws ConfigError if the vocabulary lacks a token of a merge, its result, or the
    /// unknown token.
    Bpe(Vocabulary vocabulary, const std::vector<Merge>& merges, BpeOptions options);
    /// The same by ids, which must be in the vocabulary.
    Bpe(Vocabulary vocabulary, const std::vector<BpeJoin>& joins, BpeOptions options);

    void encode(std::string_view word, std::vector<WordToken>& out) const override;
    WordTrace trace(std::string_view word) const override;
    const char* type() const override { return "BPE"; }
    std::optional<std::int32_t> unknown() const override { return unknown_; }
    std::size_t merges() const override { return joins_.size(); }

private:
    struct Join {
        std::int32_t rank = 0, id = 0;
    };
    struct Symbol {
        std::int32_t id = 0;
        std::int32_t previous = -1, next = -1;
        std::uint32_t begin = 0, end = 0;  ///< empty once it is merged into the one before
        bool kept = false;                 ///< never merged
    };

    Bpe(Vocabulary vocabulary, BpeOptions options);
    /// The byte tokens that spell a text; empty if it has none, or not all of them.
    std::vector<std::int32_t> byte_tokens(std::string_view text) const;
    bool is_letter(const Symbol& symbol) const { return symbol.id >= vocabulary_.size(); }
    void append_letter(std::string_view word, const Symbol& letter, std::vector<WordToken>& out) const;
    /// Alone, or as part of the unknown token before it.
    void append_unknown(std::uint32_t begin, std::uint32_t end, std::vector<WordToken>& out) const;
    /// Bytes of the longest kept-whole token at the front of a text; 0 if none.
    std::size_t kept_bytes(std::string_view text) const;
    std::vector<Symbol> characters_of(std::string_view word) const;
    /// Calls before_join(index of the left symbol) before each merge.
    template <class BeforeJoin>
    void join_pairs(std::vector<Symbol>& symbols, BeforeJoin&& before_join) const;
    std::optional<WordTrace::Pair> pair_at(const std::vector<Symbol>& symbols, std::int32_t left) const;
    const Join* join_of(std::int32_t left, std::int32_t right) const;

    BpeOptions options_;
    std::optional<std::int32_t> unknown_;
    std::unordered_map<std::uint64_t, Join> joins_;
    ByteTrie kept_;
    std::map<std::string, std::int32_t, std::less<>> letters_;  ///< ids behind the vocabulary's
};

/// Reads tokenizer.json's model of type BPE.
std::unique_ptr<TokenModel> read_bpe(JsonObject& json);

}  // namespace attn
