#pragma once
/// Models that look words up: whole (WordLevel) or by longest prefix (WordPiece).

#include "engine/tokenizer/token_model.hpp"

namespace attn {

class WordLevel final : public TokenModel {
public:
    /// If the vocabulary lacks the unknown token, a text with an unknown word is refused.
    WordLevel(Vocabulary vocabulary, const std::string& unknown);
    void encode(std::string_view word, std::vector<WordToken>& out) const override;
    WordTrace trace(std::string_view word) const override;
    const char* type() const override { return "WordLevel"; }
    std::optional<std::int32_t> unknown() const override { return unknown_; }

private:
    std::optional<std::int32_t> unknown_;
};

/// https://github.com/google-research/bert, tokenization.py: WordpieceTokenizer. A word is unknown as a whole if one of its parts is not in
/// the vocabulary or if it has too many characters.
class WordPiece final : public TokenModel {
public:
    /// Throws ConfigError if the vocabulary lacks the unknown token.
    WordPiece(Vocabulary vocabulary, const std::string& unknown, std::string prefix, std::int64_t max_characters);
    void encode(std::string_view word, std::vector<WordToken>& out) const override;
    WordTrace trace(std::string_view word) const override;
    const char* type() const override { return "WordPiece"; }
    std::optional<std::int32_t> unknown() const override { return unknown_; }

private:
    /// Calls looked_up(begin, end, found) for every part that is tried.
    template <class LookedUp>
    void spell(std::string_view word, std::vector<WordToken>& out, LookedUp&& looked_up) const;

    std::int32_t unknown_;
    std::string prefix_;  ///< of every part but the first
    std::int64_t max_characters_;
};

std::unique_ptr<TokenModel> read_word_level(JsonObject& json);
std::unique_ptr<TokenModel> read_word_piece(JsonObject& json);

}  // namespace attn
