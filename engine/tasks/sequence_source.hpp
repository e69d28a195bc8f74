#pragma once
/// Sources of a task's sequences; one implementation per kind of task.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/grammar/draws.hpp"
#include "engine/tasks/task_settings.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn {

/// Random streams of the tasks. A run uses only those of its own task, so two tasks may have the same number. The numbers never change:
/// training a model again must give the same sequences.
enum TaskStream : std::uint64_t {
    // Sequences of symbols.
    kTableStream = 1,
    kHeldOutSymbolsStream = 2,
    kLastSymbolStream = 3,
    // Stories.
    kHeldOutStoriesStream = 4,
    // Sums.
    kHeldOutSumsStream = 5,
    kOtherSumsStream = 6,  ///< shows whether any sums are left for training
    // Stories with hidden words.
    kHeldOutTextsStream = 5,
    kHeldOutBlanksStream = 6,
    // Sentences to translate.
    kHeldOutSentencesStream = 1,
};

/// A sequence of a batch, to be filled in.
struct SequenceSlot {
    std::span<std::int32_t> tokens;   ///< [T]
    std::span<std::int32_t> targets;  ///< [T]
    std::span<std::int32_t> source;   ///< [source_length], empty if the task has none
};

/// How much of a slot was filled.
struct SequenceSize {
    std::int64_t tokens = 0;  ///< of the slot's T; the rest is padding and has no targets
    std::int64_t length = 0;  ///< by which accuracy is reported: symbols of the question or repeated string, words of the answer; 0: none
    std::int64_t source = 0;  ///< of the slot's source; the rest is padding
};

/// Immutable; draws without allocating.
class SequenceSource {
public:
    virtual ~SequenceSource() = default;
    virtual Tokenizer tokenizer() const = 0;
    virtual std::int64_t length() const = 0;  ///< T
    virtual std::int64_t source_length() const { return 0; }
    /// Draws a sequence that is not held out.
    virtual SequenceSize draw(Draws& draws, SequenceSlot slot) const = 0;
    /// Number of sequences in the validation set.
    virtual std::int64_t held_out() const = 0;
    /// Validation sequence number `index`, below held_out(); all differ, except in a text. The first is among the longest.
    virtual SequenceSize held_out(std::int64_t index, SequenceSlot slot) const = 0;
};

/// Copy, Reverse, Sort, Repeat and Bigram. All of these functions throw ConfigError like Dataset. `words`: those of a model that is trained
/// further (given_words.hpp); empty: the text decides.
std::unique_ptr<const SequenceSource> make_symbol_source(const TaskSettings& settings, std::uint64_t seed);
std::unique_ptr<const SequenceSource> make_addition_source(const TaskSettings& settings, std::uint64_t seed);
std::unique_ptr<const SequenceSource> make_sum_source(const TaskSettings& settings, std::uint64_t seed);
std::unique_ptr<const SequenceSource> make_text_source(const TaskSettings& settings, std::span<const std::string> words = {});
std::unique_ptr<const SequenceSource> make_story_source(const TaskSettings& settings, std::uint64_t seed);
std::unique_ptr<const SequenceSource> make_fill_in_source(const TaskSettings& settings, std::uint64_t seed);
std::unique_ptr<const SequenceSource> make_translation_source(const TaskSettings& settings, std::uint64_t seed);

/// Whether a sequence is held out. Depends only on its symbols and the seed, and is true for about `share` of all sequences.
bool is_held_out(std::span<const std::int32_t> content, std::uint64_t seed, double share);
/// The same for two summands. Both orders are on the same side: a + b would give away b + a.
bool is_pair_held_out(std::int32_t a, std::int32_t b, std::uint64_t seed, double share);

/// Transition probabilities [V,V] of the Bigram task: row s is the distribution after symbol s.
std::vector<double> bigram_table(std::int64_t symbols, std::uint64_t seed);

}  // namespace attn
