#pragma once
/// What turns one word into tokens: BPE, Unigram, WordPiece or a plain list of words.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/tokenizer/vocabulary.hpp"

namespace attn {

/// Bytes begin..end of the word. Several tokens may stand for the same bytes.
struct WordToken {
    std::int32_t id = 0;
    std::uint32_t begin = 0, end = 0;
};

/// How a word became tokens, as its model went about it: of BPE characters and joins, of Unigram spellings, of the others look-ups.
struct WordTrace {
    /// BPE: two neighbouring parts, begin..middle and middle..end, that may become one.
    struct Pair {
        std::uint32_t begin = 0, middle = 0, end = 0;
        std::int32_t rank = 0, id = 0;  ///< of what they become
    };
    struct Join {
        Pair joined;
        std::vector<Pair> pairs;  ///< all that may be joined at this point, left to right; only of words up to kLongestWithPairs parts
    };
    static constexpr std::size_t kLongestWithPairs = 128;
    /// Unigram: a piece that fits, and what the likeliest spelling up to its end with it as the last piece scores.
    struct Spelling {
        WordToken token;
        double score = 0, total = 0;
        bool chosen = false;  ///< part of the likeliest spelling of the whole word
    };
    /// WordPiece and WordLevel: a part that was looked for.
    struct LookUp {
        std::uint32_t begin = 0, end = 0;
        bool found = false;
    };

    bool taken_whole = false;         ///< BPE: the word is a token, and nothing was joined
    std::vector<WordToken> parts;     ///< BPE: before the first join
    std::vector<Join> joins;          ///< in their order
    std::vector<Spelling> spellings;  ///< by their beginnings
    std::vector<LookUp> look_ups;     ///< in their order
    std::vector<WordToken> tokens;    ///< what encode() gives
};

/// May be used by several threads at once.
class TokenModel {
public:
    virtual ~TokenModel() = default;
    TokenModel(const TokenModel&) = delete;
    TokenModel& operator=(const TokenModel&) = delete;

    /// Appends the tokens of a word, which is valid UTF-8 and not empty. Throws ConfigError for a text that the vocabulary cannot spell
    /// and has no unknown token for.
    virtual void encode(std::string_view word, std::vector<WordToken>& out) const = 0;
    /// The same step by step, by the same code.
    virtual WordTrace trace(std::string_view word) const = 0;
    /// "BPE", as tokenizer.json names it.
    virtual const char* type() const = 0;
    /// Id of what stands for a text that cannot be spelled.
    virtual std::optional<std::int32_t> unknown() const = 0;
    const Vocabulary& vocabulary() const { return vocabulary_; }

protected:
    explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

    Vocabulary vocabulary_;
};

/// tokenizer.json's "model". Throws FileError naming a type that there is not, or the field at fault.
std::unique_ptr<TokenModel> read_token_model(JsonObject component);

}  // namespace attn
