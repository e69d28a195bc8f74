/// Sentences of one toy language, to be translated into the other.

#include <algorithm>
#include <set>
#include <utility>

#include "engine/grammar/toy_languages.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tasks/sequence_source.hpp"

namespace attn {
namespace {

constexpr std::int32_t kBegins = 0;  // id of the start symbol, the vocabulary's first word

class TranslationSource : public SequenceSource {
public:
    TranslationSource(const TaskSettings& settings, std::uint64_t seed) : seed_(seed), share_(settings.validation_share) {
        constexpr std::size_t kSentences = 256;
        Draws draws(seed_, kHeldOutSentencesStream);
        std::set<std::vector<std::int32_t>> known;
        while (held_out_.size() < kSentences) {
            const SentencePair pair = draw_sentence_pair(draws);
            const std::span<const std::int32_t> english = pair.english.ids();
            if (held_out(pair) && known.emplace(english.begin(), english.end()).second) held_out_.push_back(pair);
        }
        const auto longest = std::max_element(held_out_.begin(), held_out_.end(),
                                              [](const SentencePair& a, const SentencePair& b) { return a.answer.count < b.answer.count; });
        std::iter_swap(held_out_.begin(), longest);
    }

    Tokenizer tokenizer() const override { return Tokenizer::from_vocabulary(TokenizerKind::Word, toy_vocabulary(), false); }
    std::int64_t length() const override { return SentencePair::kLongestAnswer; }
    std::int64_t source_length() const override { return SentencePair::kLongestEnglish; }

    SequenceSize draw(Draws& draws, SequenceSlot slot) const override {
        SentencePair pair;
        do pair = draw_sentence_pair(draws);
        while (held_out(pair));
        return write(pair, slot);
    }

    std::int64_t held_out() const override { return static_cast<std::int64_t>(held_out_.size()); }
    SequenceSize held_out(std::int64_t index, SequenceSlot slot) const override {
        return write(held_out_[static_cast<std::size_t>(index)], slot);
    }

private:
    bool held_out(const SentencePair& pair) const { return is_held_out(pair.english.ids(), seed_, share_); }

    static SequenceSize write(const SentencePair& pair, SequenceSlot slot) {
        const std::span<const std::int32_t> english = pair.english.ids(), answer = pair.answer.ids();
        std::fill(std::copy(english.begin(), english.end(), slot.source.begin()), slot.source.end(), 0);
        slot.tokens.front() = kBegins;
        std::fill(std::copy(answer.begin(), answer.end() - 1, slot.tokens.begin() + 1), slot.tokens.end(), 0);
        std::fill(std::copy(answer.begin(), answer.end(), slot.targets.begin()), slot.targets.end(), kIgnoredTarget);
        const auto words = static_cast<std::int64_t>(answer.size());
        return {words, words, static_cast<std::int64_t>(english.size())};
    }

    std::uint64_t seed_;
    double share_;
    std::vector<SentencePair> held_out_;
};

}  // namespace

std::unique_ptr<const SequenceSource> make_translation_source(const TaskSettings& settings, std::uint64_t seed) {
    return std::make_unique<TranslationSource>(settings, seed);
}

}  // namespace attn
