/// Stories with hidden words to fill in.

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/grammar/stories.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tasks/dataset.hpp"
#include "engine/tasks/sequence_source.hpp"

namespace attn {
namespace {

/// Training hides at most one of kFewestBetween words, validation one of kWordsToABlank.
constexpr std::size_t kFewestBetween = 4, kWordsToABlank = 10;

class FillInSource : public SequenceSource {
public:
    FillInSource(const TaskSettings& settings, std::uint64_t seed)
        : length_(settings.length), share_(settings.validation_share), seed_(seed),
          blank_(static_cast<std::int32_t>(stories().vocabulary().size())) {
        constexpr std::size_t kTexts = 256;
        Draws draws(seed, kHeldOutTextsStream);
        std::vector<std::int32_t> words;
        std::set<std::vector<std::int32_t>> known;
        while (held_out_.size() < kTexts) {
            tell(draws, words);
            if (is_held_out(words) && known.insert(words).second) held_out_.push_back(words);
        }
        std::iter_swap(held_out_.begin(), std::max_element(held_out_.begin(), held_out_.end(),
                                                           [](const auto& a, const auto& b) { return a.size() < b.size(); }));
    }

    Tokenizer tokenizer() const override {
        std::vector<std::string> vocabulary = stories().vocabulary();
        vocabulary.emplace_back(kBlank);
        return Tokenizer::from_vocabulary(TokenizerKind::Word, vocabulary, false);
    }
    std::int64_t length() const override { return length_; }

    SequenceSize draw(Draws& draws, SequenceSlot slot) const override {
        thread_local std::vector<std::int32_t> words;
        do tell(draws, words);
        while (is_held_out(words));
        const auto most = static_cast<std::int64_t>(std::max(words.size() / kFewestBetween, std::size_t{1}));
        return write(words, 1 + draws.below(most), draws, slot);
    }

    std::int64_t held_out() const override { return static_cast<std::int64_t>(held_out_.size()); }
    SequenceSize held_out(std::int64_t index, SequenceSlot slot) const override {
        const std::vector<std::int32_t>& words = held_out_[static_cast<std::size_t>(index)];
        Draws draws(CounterRandom(seed_, kHeldOutBlanksStream).bits(0), static_cast<std::uint64_t>(index));
        return write(words, static_cast<std::int64_t>(1 + (words.size() - 1) / kWordsToABlank), draws, slot);
    }

private:
    void tell(Draws& draws, std::vector<std::int32_t>& words) const {
        words.resize(static_cast<std::size_t>(length_));
        words.resize(static_cast<std::size_t>(stories().tell(draws, words)));
    }
    bool is_held_out(const std::vector<std::int32_t>& words) const { return attn::is_held_out(words, seed_, share_); }

    /// Hides `blanks` of the words, or all if there are fewer.
    SequenceSize write(const std::vector<std::int32_t>& words, std::int64_t blanks, Draws& draws, SequenceSlot slot) const {
        const auto count = static_cast<std::int64_t>(words.size());
        std::fill(std::copy(words.begin(), words.end(), slot.tokens.begin()), slot.tokens.end(), 0);
        std::fill(slot.targets.begin(), slot.targets.end(), kIgnoredTarget);
        for (std::int64_t hidden = 0; hidden < blanks;) {
            const auto at = static_cast<std::size_t>(draws.below(count));
            if (slot.tokens[at] == blank_) continue;
            slot.targets[at] = std::exchange(slot.tokens[at], blank_);
            ++hidden;
        }
        return {count, 0};
    }

    std::int64_t length_;
    double share_;
    std::uint64_t seed_;
    std::int32_t blank_;
    std::vector<std::vector<std::int32_t>> held_out_;
};

}  // namespace

std::unique_ptr<const SequenceSource> make_fill_in_source(const TaskSettings& settings, std::uint64_t seed) {
    return std::make_unique<FillInSource>(settings, seed);
}

}  // namespace attn
