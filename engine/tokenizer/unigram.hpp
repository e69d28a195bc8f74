#pragma once
/// The likeliest way to spell a text with pieces that each have a log-probability. Kudo 2018; ties and unknown characters as in the
/// tokenizers library, models/unigram.

#include <optional>

#include "engine/tokenizer/byte_trie.hpp"
#include "engine/tokenizer/token_model.hpp"

namespace attn {

class Unigram final : public TokenModel {
public:
    /// One score an id. Throws ConfigError for an unknown id outside of the vocabulary or a score that is not a number.
    Unigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<std::int32_t> unknown, bool byte_fallback);

    void encode(std::string_view word, std::vector<WordToken>& out) const override;
    const char* type() const override { return "Unigram"; }

private:
    struct Step {
        double score = 0;
        std::uint32_t begin = 0;
        std::int32_t id = -1;
        bool reached = false, known = false;
    };
    std::vector<Step> best_steps(std::string_view word) const;
    void spell(std::string_view word, std::size_t begin, std::size_t end, std::vector<WordToken>& out) const;

    std::vector<double> scores_;
    std::optional<std::int32_t> unknown_;
    bool byte_fallback_;
    double unknown_score_ = 0;
    ByteTrie pieces_;
};

std::unique_ptr<TokenModel> read_unigram(JsonObject& json);

}  // namespace attn
