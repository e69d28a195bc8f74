#pragma once
/// The model that turns a word into tokens: BPE, Unigram, WordPiece or WordLevel.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/tokenizer/vocabulary.hpp"

namespace attn {

/// A token and the bytes [begin, end) of the word it stands for. Several tokens may stand for the same bytes.
struct WordToken {
    std::int32_t id = 0;
    std::uint32_t begin = 0, end = 0;
};

/// How a model turned a word into tokens: merges for BPE, candidate spellings for Unigram, look-ups for the others.
struct WordTrace {
    /// BPE: two adjacent parts, [begin, middle) and [middle, end), that can be merged.
    struct Pair {
        std::uint32_t begin = 0, middle = 0, end = 0;
        std::int32_t rank = 0, id = 0;  ///< of the merged token
    };
    struct Join {
        Pair joined;
        std::vector<Pair>
            pairs;  ///< all pairs that can be merged at this point, left to right; only for words of up to kLongestWithPairs parts
    };
    static constexpr std::size_t kLongestWithPairs = 128;
    /// Unigram: a piece that fits, its score, and the best total up to its end with it as the last piece.
    struct Spelling {
        WordToken token;
        double score = 0, total = 0;
        bool chosen = false;  ///< part of the best spelling of the whole word
    };
    /// WordPiece and WordLevel: a part that was looked up.
    struct LookUp {
        std::uint32_t begin = 0, end = 0;
        bool found = false;
    };

    bool taken_whole = false;         ///< BPE: the word is a token, so nothing was merged
    std::vector<WordToken> parts;     ///< BPE: before the first merge; characters that have no token but can be merged have the id -1
    std::vector<Join> joins;          ///< in order
    std::vector<Spelling> spellings;  ///< by where they begin
    std::vector<LookUp> look_ups;     ///< in order
    std::vector<WordToken> tokens;    ///< as encode() returns them
};

/// Thread-safe.
class TokenModel {
public:
    virtual ~TokenModel() = default;
    TokenModel(const TokenModel&) = delete;
    TokenModel& operator=(const TokenModel&) = delete;

    /// Appends the tokens of a word, which must be non-empty valid UTF-8. Throws ConfigError if the vocabulary cannot spell it and has no
    /// unknown token.
    virtual void encode(std::string_view word, std::vector<WordToken>& out) const = 0;
    /// The same step by step, from the same code.
    virtual WordTrace trace(std::string_view word) const = 0;
    /// The name in tokenizer.json, such as "BPE".
    virtual const char* type() const = 0;
    /// The token for text that cannot be spelled.
    virtual std::optional<std::int32_t> unknown() const = 0;
    /// The length of BPE's merge list; 0 for the other models.
    virtual std::size_t merges() const { return 0; }
    const Vocabulary& vocabulary() const { return vocabulary_; }

protected:
    /// Throws ConfigError naming the text that cannot be spelled.
    [[noreturn]] static void refuse_unknown(std::string_view text);
    explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

    Vocabulary vocabulary_;
};

/// Reads tokenizer.json's "model". Throws FileError naming an unknown type or the field at fault.
std::unique_ptr<TokenModel> read_token_model(JsonObject component);

}  // namespace attn
