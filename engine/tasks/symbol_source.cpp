/// Sequences of letters: copied, reversed, sorted, repeated, or drawn from a transition table.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "engine/ops/cross_entropy.hpp"
#include "engine/tasks/sequence_source.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

constexpr std::string_view kSymbols = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr std::string_view kSeparator = ">";

/// Every row of the table as cumulative sums.
std::vector<double> running_sums(std::vector<double> table, std::int64_t symbols) {
    for (std::size_t i = 0; i < table.size(); ++i)
        if (i % static_cast<std::size_t>(symbols) != 0) table[i] += table[i - 1];
    return table;
}

/// Reorders the sequences to cycle through the lengths, longest first, so that the first few show every length.
void take_turns(std::vector<std::vector<std::int32_t>>& sequences) {
    std::map<std::size_t, std::vector<std::vector<std::int32_t>>, std::greater<>> by_length;
    for (std::vector<std::int32_t>& sequence : sequences) by_length[sequence.size()].push_back(std::move(sequence));
    std::size_t at = 0;
    for (std::size_t round = 0; at < sequences.size(); ++round)
        for (auto& [length, same] : by_length)
            if (round < same.size()) sequences[at++] = std::move(same[round]);
}

class SymbolSource : public SequenceSource {
public:
    SymbolSource(const TaskSettings& settings, std::uint64_t seed) : settings_(settings), seed_(seed) {
        if (settings.kind == TaskKind::Bigram) sums_ = running_sums(bigram_table(settings.symbols, seed), settings.symbols);
        hold_out();
        require_training_sequence();
    }

    Tokenizer tokenizer() const override {
        std::vector<std::string> vocabulary;
        for (std::int64_t i = 0; i < settings_.symbols; ++i) vocabulary.emplace_back(1, kSymbols[static_cast<std::size_t>(i)]);
        if (has_question()) vocabulary.emplace_back(kSeparator);
        return Tokenizer::from_vocabulary(TokenizerKind::Character, vocabulary, false);
    }

    std::int64_t length() const override {
        const std::int64_t n = settings_.length;
        return has_question() ? 2 * n : settings_.kind == TaskKind::Repeat ? 2 * n - 1 : n;
    }

    SequenceSize draw(Draws& draws, SequenceSlot slot) const override {
        std::span<const std::int32_t> content;
        do content = draw_content(draws, slot.tokens, Lengths::Longer);
        while (is_held_out(content));
        return complete(draws, slot, content.size());
    }

    std::int64_t held_out() const override { return static_cast<std::int64_t>(held_out_.size()); }

    SequenceSize held_out(std::int64_t index, SequenceSlot slot) const override {
        const std::vector<std::int32_t>& content = held_out_[static_cast<std::size_t>(index)];
        std::copy(content.begin(), content.end(), slot.tokens.begin());
        Draws draws(CounterRandom(seed_, kLastSymbolStream).bits(0), static_cast<std::uint64_t>(index));
        return complete(draws, slot, content.size());
    }

private:
    bool has_question() const {
        return settings_.kind == TaskKind::Copy || settings_.kind == TaskKind::Reverse || settings_.kind == TaskKind::Sort;
    }
    bool is_held_out(std::span<const std::int32_t> content) const { return attn::is_held_out(content, seed_, settings_.validation_share); }

    std::int32_t follower(std::int32_t symbol, Draws& draws) const {
        const auto row = sums_.begin() + symbol * settings_.symbols, end = row + settings_.symbols;
        const auto at = std::upper_bound(row, end, draws.uniform() * *(end - 1));
        return static_cast<std::int32_t>(std::min(at, end - 1) - row);
    }

    enum class Lengths : std::uint8_t {
        Even,   ///< for validation: every length equally often
        Longer  ///< for training: the longer of two uniform draws, since long questions are harder and more numerous
    };

    std::int64_t draw_length(Draws& draws, Lengths lengths) const {
        const std::int64_t shortest = shortest_length(settings_), count = settings_.length - shortest + 1;
        if (count == 1) return shortest;
        const std::int64_t drawn = draws.below(count);
        // Runs without a shortest length predate this preference and must keep their data.
        const bool longer = lengths == Lengths::Longer && settings_.shortest > 0;
        return shortest + (longer ? std::max(drawn, draws.below(count)) : drawn);
    }

    /// Draws a sequence's content into `room`: the question, the string to repeat, or all tokens of a Bigram sequence.
    std::span<const std::int32_t> draw_content(Draws& draws, std::span<std::int32_t> room, Lengths lengths) const {
        const bool repeats = settings_.kind == TaskKind::Repeat, follows = settings_.kind == TaskKind::Bigram;
        const std::span<std::int32_t> content =
            room.first(static_cast<std::size_t>(follows ? settings_.length : draw_length(draws, lengths)));
        for (auto at = content.begin(); at != content.end(); ++at) {
            // A repeated string has no symbol twice: otherwise its successor would not be determined.
            do
                *at = follows && at != content.begin() ? follower(*(at - 1), draws)
                                                       : static_cast<std::int32_t>(draws.below(settings_.symbols));
            while (repeats && std::find(content.begin(), at, *at) != at);
        }
        return content;
    }

    /// Completes a sequence whose first `count` tokens are its content.
    SequenceSize complete(Draws& draws, SequenceSlot slot, std::size_t count) const {
        const auto n = static_cast<std::ptrdiff_t>(count);
        const auto tokens = slot.tokens.begin(), targets = slot.targets.begin();
        if (settings_.kind == TaskKind::Bigram) {
            std::copy(tokens + 1, tokens + n, targets);
            targets[n - 1] = follower(tokens[n - 1], draws);
            return {n, 0};
        }
        std::fill(targets, targets + n, kIgnoredTarget);
        if (settings_.kind == TaskKind::Repeat) {
            for (std::ptrdiff_t t = n; t < static_cast<std::ptrdiff_t>(slot.tokens.size()); ++t) {
                tokens[t] = tokens[t - n];
                targets[t] = tokens[t + 1 - n];
            }
            return {length(), n};
        }
        std::copy(tokens, tokens + n, targets + n);
        if (settings_.kind == TaskKind::Reverse) std::reverse(targets + n, targets + 2 * n);
        if (settings_.kind == TaskKind::Sort) std::sort(targets + n, targets + 2 * n);
        tokens[n] = static_cast<std::int32_t>(settings_.symbols);  // the separator
        std::copy(targets + n, targets + 2 * n - 1, tokens + n + 1);
        std::fill(tokens + 2 * n, slot.tokens.end(), 0);
        std::fill(targets + 2 * n, slot.targets.end(), kIgnoredTarget);
        return {2 * n, n};
    }

    void hold_out() {
        constexpr std::size_t kSequences = 128;
        const auto attempts = static_cast<std::int64_t>(16 * static_cast<double>(kSequences) / settings_.validation_share);
        Draws draws(seed_, kHeldOutSymbolsStream);
        std::vector<std::int32_t> room(static_cast<std::size_t>(length()));
        std::set<std::vector<std::int32_t>> known;
        for (std::int64_t i = 0; i < attempts && held_out_.size() < kSequences; ++i) {
            const std::span<const std::int32_t> content = draw_content(draws, room, Lengths::Even);
            if (!is_held_out(content)) continue;
            std::vector<std::int32_t> kept(content.begin(), content.end());
            if (known.insert(kept).second) held_out_.push_back(std::move(kept));
        }
        if (held_out_.empty()) refuse_few();
        if (settings_.shortest > 0) take_turns(held_out_);
    }

    /// Throws if there is no training sequence, because drawing one would never end.
    void require_training_sequence() const {
        constexpr int kAttempts = 10'000;
        Draws draws(seed_, kHeldOutSymbolsStream);
        std::vector<std::int32_t> room(static_cast<std::size_t>(length()));
        for (int i = 0; i < kAttempts; ++i)
            if (!is_held_out(draw_content(draws, room, Lengths::Longer))) return;
        refuse_few();
    }

    [[noreturn]] void refuse_few() const {
        throw ConfigError(fmt::format(
            "{} symbols and a length of {} give too few different sequences to hold some out: choose more symbols or a greater length",
            settings_.symbols, settings_.length));
    }

    TaskSettings settings_;
    std::uint64_t seed_;
    std::vector<double> sums_;  ///< [V,V] cumulative rows of the Bigram table
    std::vector<std::vector<std::int32_t>> held_out_;
};

}  // namespace

std::vector<double> bigram_table(std::int64_t symbols, std::uint64_t seed) {
    const CounterRandom random(seed, kTableStream);
    std::vector<double> table(static_cast<std::size_t>(symbols * symbols));
    for (std::size_t row = 0; row < table.size(); row += static_cast<std::size_t>(symbols)) {
        const auto first = table.begin() + static_cast<std::ptrdiff_t>(row), last = first + symbols;
        double sum = 0;
        for (auto at = first; at != last; ++at) {
            const double u = random.uniform(static_cast<std::uint64_t>(at - table.begin()));
            // A high power gives every symbol a few likely successors. Products are exact across machines, unlike pow().
            *at = u * u * u * u * u * u + 1e-3;
            sum += *at;
        }
        for (auto at = first; at != last; ++at) *at /= sum;
    }
    return table;
}

std::unique_ptr<const SequenceSource> make_symbol_source(const TaskSettings& settings, std::uint64_t seed) {
    return std::make_unique<SymbolSource>(settings, seed);
}

}  // namespace attn
