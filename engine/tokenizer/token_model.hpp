#pragma once
/// What turns one word into tokens: BPE, Unigram, WordPiece or a plain list of words.

#include <cstdint>
#include <memory>
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

/// May be used by several threads at once.
class TokenModel {
public:
    virtual ~TokenModel() = default;
    TokenModel(const TokenModel&) = delete;
    TokenModel& operator=(const TokenModel&) = delete;

    /// Appends the tokens of a word, which is valid UTF-8 and not empty. Throws ConfigError for a text that the vocabulary cannot spell
    /// and has no unknown token for.
    virtual void encode(std::string_view word, std::vector<WordToken>& out) const = 0;
    /// "BPE", as tokenizer.json names it.
    virtual const char* type() const = 0;
    const Vocabulary& vocabulary() const { return vocabulary_; }

protected:
    explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

    Vocabulary vocabulary_;
};

/// tokenizer.json's "model". Throws FileError naming a type that there is not, or the field at fault.
std::unique_ptr<TokenModel> read_token_model(JsonObject component);

}  // namespace attn
