/// Sums of two numbers in columns, as on paper: "347+586:13,13,09=933".

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/ops/cross_entropy.hpp"
#include "engine/tasks/sequence_source.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

constexpr std::string_view kCharacters = "0123456789+:,=";

class SumSource : public SequenceSource {
public:
    SumSource(const TaskSettings& settings, std::uint64_t seed) : digits_(settings.length), share_(settings.validation_share), seed_(seed) {
        for (std::int64_t i = 0; i < digits_; ++i) range_ *= 10;
        first_ = digits_ == 1 ? 0 : range_ / 10;
        constexpr std::size_t kSequences = 256;
        constexpr int kAttempts = 100'000;
        Draws draws(seed, kHeldOutSumsStream);
        std::set<Pair> known;
        for (int i = 0; i < kAttempts && held_out_.size() < kSequences; ++i) {
            const Pair pair = any(draws);
            if (is_held_out(pair) && known.insert(pair).second) held_out_.push_back(pair);
        }
        // The first is one of the longest.
        std::stable_partition(held_out_.begin(), held_out_.end(), [&](const Pair& pair) { return pair.first + pair.second >= range_; });
        Draws others(seed, kOtherSumsStream);
        bool trains = false;
        for (int i = 0; i < kAttempts && !trains; ++i) trains = !is_held_out(any(others));
        if (held_out_.empty() || !trains)
            throw ConfigError(fmt::format("there are too few sums of {}-digit numbers to hold some out: choose a greater length", digits_));
    }

    Tokenizer tokenizer() const override {
        std::vector<std::string> vocabulary;
        for (const char character : kCharacters) vocabulary.emplace_back(1, character);
        return Tokenizer::from_vocabulary(TokenizerKind::Character, vocabulary, false);
    }

    /// Length of the longest sum without its last character.
    std::int64_t length() const override { return 6 * digits_ + 2; }

    SequenceSize draw(Draws& draws, SequenceSlot slot) const override {
        Pair pair = any(draws);
        while (is_held_out(pair)) pair = any(draws);
        return write(pair, slot);
    }

    std::int64_t held_out() const override { return static_cast<std::int64_t>(held_out_.size()); }
    SequenceSize held_out(std::int64_t index, SequenceSlot slot) const override {
        return write(held_out_[static_cast<std::size_t>(index)], slot);
    }

private:
    using Pair = std::pair<std::int64_t, std::int64_t>;

    Pair any(Draws& draws) const {
        const std::int64_t a = first_ + draws.below(range_ - first_), b = first_ + draws.below(range_ - first_);
        return {a, b};
    }
    bool is_held_out(const Pair& pair) const {
        return is_pair_held_out(static_cast<std::int32_t>(pair.first), static_cast<std::int32_t>(pair.second), seed_, share_);
    }

    /// The digit of a number at 10^place.
    static std::int64_t digit(std::int64_t number, std::int64_t place) {
        for (; place > 0; --place) number /= 10;
        return number % 10;
    }

    /// The question "347+586:", then every column from the right including its carry, then the sum.
    SequenceSize write(const Pair& pair, SequenceSlot slot) const {
        std::size_t count = 0;
        const auto question = static_cast<std::size_t>(2 * digits_ + 2);
        const auto put = [&](char character) {
            const auto id = static_cast<std::int32_t>(kCharacters.find(character));
            if (count < slot.tokens.size()) slot.tokens[count] = id;
            if (count > 0) slot.targets[count - 1] = count < question ? kIgnoredTarget : id;
            ++count;
        };
        const auto put_digit = [&](std::int64_t value) { put(static_cast<char>('0' + value)); };
        for (std::int64_t place = digits_ - 1; place >= 0; --place) put_digit(digit(pair.first, place));
        put('+');
        for (std::int64_t place = digits_ - 1; place >= 0; --place) put_digit(digit(pair.second, place));
        put(':');
        std::int64_t carried = 0;
        for (std::int64_t place = 0; place < digits_; ++place) {
            if (place > 0) put(',');
            const std::int64_t sum = digit(pair.first, place) + digit(pair.second, place) + carried;
            carried = sum / 10;
            put_digit(carried);
            put_digit(sum % 10);
        }
        put('=');
        const std::int64_t sum = pair.first + pair.second;
        for (std::int64_t place = digits_ - (sum < range_ ? 1 : 0); place >= 0; --place) put_digit(digit(sum, place));
        const std::size_t tokens = count - 1;
        std::fill(slot.tokens.begin() + static_cast<std::ptrdiff_t>(tokens), slot.tokens.end(), 0);
        std::fill(slot.targets.begin() + static_cast<std::ptrdiff_t>(tokens), slot.targets.end(), kIgnoredTarget);
        return {static_cast<std::int64_t>(tokens), 0};
    }

    std::int64_t digits_, range_ = 1, first_ = 0;  ///< numbers are first_ .. range_ - 1
    double share_;
    std::uint64_t seed_;
    std::vector<Pair> held_out_;
};

}  // namespace

std::unique_ptr<const SequenceSource> make_sum_source(const TaskSettings& settings, std::uint64_t seed) {
    return std::make_unique<SumSource>(settings, seed);
}

}  // namespace attn
