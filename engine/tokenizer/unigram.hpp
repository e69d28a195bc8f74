#pragma once
/// The unigram language model: the most probable segmentation into pieces that each have a log-probability (Kudo, 2018). Ties and unknown
/// characters as in the tokenizers library, models/unigram.

#include <optional>

#include "engine/tokenizer/byte_trie.hpp"
#include "engine/tokenizer/token_model.hpp"

namespace attn {

struct UnigramOptions {
    std::optional<std::int32_t> unknown;  ///< token for characters without a piece
    bool byte_fallback = false;           ///< unknown characters become pieces <0x00> to <0xFF> for their bytes
    bool fuse_unknown = true;             ///< a run of unknown characters becomes one token
    std::optional<double> unknown_score;  ///< default: 10 below the lowest score
    bool single_precision = false;        ///< round sums to float like SentencePiece, which decides ties
    std::vector<bool> in_words;           ///< by id: whether the piece may occur in a word; empty: all may
};

class Unigram final : public TokenModel {
public:
    /// `scores` has one score per id. Throws ConfigError for an unknown id outside the vocabulary or a NaN score.
    Unigram(Vocabulary vocabulary, std::vector<double> scores, UnigramOptions options);

    void encode(std::string_view word, std::vector<WordToken>& out) const override;
    WordTrace trace(std::string_view word) const override;
    const char* type() const override { return "Unigram"; }
    std::optional<std::int32_t> unknown() const override { return options_.unknown; }

private:
    struct Step {
        double score = 0;
        std::uint32_t begin = 0;
        std::int32_t id = -1;
        bool reached = false, known = false;
    };
    /// Viterbi. Calls offered(begin, end, id, score, total) for every piece that fits.
    template <class Offered>
    std::vector<Step> best_steps(std::string_view word, Offered&& offered) const;
    void spell(std::string_view word, std::size_t begin, std::size_t end, std::vector<WordToken>& out) const;

    bool in_words(std::int64_t id) const { return options_.in_words.empty() || options_.in_words.at(static_cast<std::size_t>(id)); }

    std::vector<double> scores_;
    UnigramOptions options_;
    double unknown_score_ = 0;
    ByteTrie pieces_;
};

std::unique_ptr<TokenModel> read_unigram(JsonObject& json);

}  // namespace attn
