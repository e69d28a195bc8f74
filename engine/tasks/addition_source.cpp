/// Addition modulo a number, with its table split in two.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "engine/ops/cross_entropy.hpp"
#include "engine/tasks/sequence_source.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

struct Pair {
    std::int32_t a = 0, b = 0;
};

class AdditionSource : public SequenceSource {
public:
    AdditionSource(const TaskSettings& settings, std::uint64_t seed) : modulus_(static_cast<std::int32_t>(settings.symbols)) {
        for (std::int32_t a = 0; a < modulus_; ++a)
            for (std::int32_t b = 0; b < modulus_; ++b)
                (is_pair_held_out(a, b, seed, settings.validation_share) ? held_out_ : training_).push_back({a, b});
        if (held_out_.empty() || training_.empty())
            throw ConfigError(fmt::format("there are too few sums modulo {} to hold some out: choose a larger modulus", modulus_));
    }

    Tokenizer tokenizer() const override {
        std::vector<std::string> vocabulary;
        for (std::int32_t i = 0; i < modulus_; ++i) vocabulary.push_back(std::to_string(i));
        vocabulary.insert(vocabulary.end(), {"+", "="});
        return Tokenizer::from_vocabulary(TokenizerKind::Word, vocabulary, false);
    }

    std::int64_t length() const override { return 4; }

    SequenceSize draw(Draws& draws, SequenceSlot slot) const override {
        return write(training_[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(training_.size())))], slot);
    }

    /// A large table is sampled evenly.
    std::int64_t held_out() const override { return std::min<std::int64_t>(static_cast<std::int64_t>(held_out_.size()), kMaxHeldOut); }

    SequenceSize held_out(std::int64_t index, SequenceSlot slot) const override {
        return write(held_out_[static_cast<std::size_t>(index * static_cast<std::int64_t>(held_out_.size()) / held_out())], slot);
    }

private:
    static constexpr std::int64_t kMaxHeldOut = 1024;

    SequenceSize write(Pair pair, SequenceSlot slot) const {
        const std::array<std::int32_t, 4> tokens = {pair.a, modulus_, pair.b, modulus_ + 1};
        std::copy(tokens.begin(), tokens.end(), slot.tokens.begin());
        std::fill(slot.targets.begin(), slot.targets.end() - 1, kIgnoredTarget);
        slot.targets.back() = (pair.a + pair.b) % modulus_;
        return {length(), 0};
    }

    std::int32_t modulus_;
    std::vector<Pair> training_, held_out_;
};

}  // namespace

std::unique_ptr<const SequenceSource> make_addition_source(const TaskSettings& settings, std::uint64_t seed) {
    return std::make_unique<AdditionSource>(settings, seed);
}

}  // namespace attn
