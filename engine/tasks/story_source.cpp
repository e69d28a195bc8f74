/// Stories from the grammar, part of them held out.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/grammar/stories.hpp"
#include "engine/ops/cross_entropy.hpp"
#include "engine/tasks/new_words.hpp"
#include "engine/tasks/sequence_source.hpp"

namespace attn {
namespace {

class StorySource : public SequenceSource {
public:
    StorySource(const TaskSettings& settings, std::uint64_t seed)
        : length_(settings.length), share_(settings.validation_share), seed_(seed), new_words_(settings.new_words) {
        constexpr std::size_t kSequences = 256;
        Draws draws(seed, kHeldOutStoriesStream);
        std::vector<std::int32_t> words;
        std::set<std::vector<std::int32_t>> known;
        while (held_out_.size() < kSequences) {
            tell(draws, words);
            if (is_held_out(words) && known.insert(words).second) held_out_.push_back(words);
        }
        // Longest first: the first is the probe.
        std::stable_sort(held_out_.begin(), held_out_.end(), [](const auto& x, const auto& y) { return x.size() > y.size(); });
    }

    Tokenizer tokenizer() const override {
        std::vector<std::string> vocabulary = stories().vocabulary();
        for (std::int64_t place = 1; place <= new_words_.places; ++place) vocabulary.push_back(place_name(place));
        return Tokenizer::from_vocabulary(TokenizerKind::Word, vocabulary, false);
    }
    std::int64_t length() const override { return length_; }

    SequenceSize draw(Draws& draws, SequenceSlot slot) const override {
        thread_local std::vector<std::int32_t> words;
        do tell(draws, words);
        while (is_held_out(words));
        thread_local std::vector<std::uint8_t> introduced;
        bring_in_new_words(new_words_, draws, words, introduced);
        const SequenceSize size = write(words, slot);
        // Nothing tells which word nobody knows comes next.
        for (std::size_t t = 1; t < introduced.size(); ++t)
            if (introduced[t] != 0) slot.targets[t - 1] = kIgnoredTarget;
        return size;
    }

    std::int64_t held_out() const override { return static_cast<std::int64_t>(held_out_.size()); }
    SequenceSize held_out(std::int64_t index, SequenceSlot slot) const override {
        return write(held_out_[static_cast<std::size_t>(index)], slot);
    }

private:
    /// One word more than there are positions, because the last is only a target.
    void tell(Draws& draws, std::vector<std::int32_t>& words) const {
        words.resize(static_cast<std::size_t>(length_) + 1);
        words.resize(static_cast<std::size_t>(stories().tell(draws, words)));
    }
    bool is_held_out(const std::vector<std::int32_t>& words) const { return attn::is_held_out(words, seed_, share_); }
    static SequenceSize write(const std::vector<std::int32_t>& words, SequenceSlot slot) {
        std::copy(words.begin(), words.end() - 1, slot.tokens.begin());
        std::copy(words.begin() + 1, words.end(), slot.targets.begin());
        const auto count = static_cast<std::ptrdiff_t>(words.size()) - 1;
        std::fill(slot.tokens.begin() + count, slot.tokens.end(), 0);
        std::fill(slot.targets.begin() + count, slot.targets.end(), kIgnoredTarget);
        return {count, 0};
    }

    std::int64_t length_;
    double share_;
    std::uint64_t seed_;
    NewWords new_words_;
    std::vector<std::vector<std::int32_t>> held_out_;
};

}  // namespace

std::unique_ptr<const SequenceSource> make_story_source(const TaskSettings& settings, std::uint64_t seed) {
    return std::make_unique<StorySource>(settings, seed);
}

}  // namespace attn
