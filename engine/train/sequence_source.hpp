#pragma once
/// Where a task's sequences come from: one implementation for each kind of task.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/grammar/draws.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/run_settings.hpp"

namespace attn {

/// One sequence of a batch, to be filled in.
struct SequenceSlot {
    std::span<std::int32_t> tokens;   ///< [T]
    std::span<std::int32_t> targets;  ///< [T]
    std::span<std::int32_t> source;   ///< of the source's length, empty where the task has none
};

/// What a slot was filled with.
struct SequenceSize {
    std::int64_t tokens = 0;  ///< of the slot's T; the rest is padding, where nothing is asked
    std::int64_t length =
        0;  ///< by which accuracy is told apart: symbols of the question or of the repeated string, words of the answer; 0: no such thing
    std::int64_t source = 0;  ///< of the slot's source; the rest is padding
};

/// Immutable once made; draws without allocating.
class SequenceSource {
public:
    virtual ~SequenceSource() = default;
    virtual Tokenizer tokenizer() const = 0;
    virtual std::int64_t length() const = 0;  ///< T
    virtual std::int64_t source_length() const { return 0; }
    /// A sequence that is not held out.
    virtual SequenceSize draw(Draws& draws, SequenceSlot slot) const = 0;
    /// Number of sequences in the validation set.
    virtual std::int64_t held_out() const = 0;
    /// Validation sequence 0 .. held_out() - 1; no two are the same but in a text. The first is among the longest.
    virtual SequenceSize held_out(std::int64_t index, SequenceSlot slot) const = 0;
};

/// Copy, Reverse, Sort, Repeat and Bigram. Like the ones below throws ConfigError as Dataset does.
std::unique_ptr<const SequenceSource> make_symbol_source(const TaskSettings& settings, std::uint64_t seed);
std::unique_ptr<const SequenceSource> make_addition_source(const TaskSettings& settings, std::uint64_t seed);
std::unique_ptr<const SequenceSource> make_sum_source(const TaskSettings& settings, std::uint64_t seed);
std::unique_ptr<const SequenceSource> make_text_source(const TaskSettings& settings);
std::unique_ptr<const SequenceSource> make_story_source(const TaskSettings& settings, std::uint64_t seed);
std::unique_ptr<const SequenceSource> make_fill_in_source(const TaskSettings& settings, std::uint64_t seed);
std::unique_ptr<const SequenceSource> make_translation_source(const TaskSettings& settings, std::uint64_t seed);

/// Which side of the split a sequence is on: the same for the same symbols, and held out for about `share` of all.
bool is_held_out(std::span<const std::int32_t> content, std::uint64_t seed, double share);

/// Transition probabilities [V,V] of the Bigram task: row s is what follows symbol s.
std::vector<double> bigram_table(std::int64_t symbols, std::uint64_t seed);

}  // namespace attn
