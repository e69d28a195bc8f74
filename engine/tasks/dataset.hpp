#pragma once
/// Training batches and the validation set of a task.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/tasks/task_settings.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn {

class SequenceSource;

struct Batch {
    TokenBatch tokens;
    std::vector<std::int32_t> targets;  ///< [B,T], kIgnoredTarget where nothing is to be predicted
    TokenBatch source = {};             ///< Translate: the encoder's input, one per sequence; else empty
};

/// The held-out sequences of one length as a batch; padded only if the task does not distinguish lengths.
struct HeldOutLength {
    std::int64_t length = 0;  ///< symbols of the question or repeated string, words of the answer; 0: no lengths
    Batch batch;
};

/// The sequences of a task. The last symbol of each is only a target. Targets are where the answer is determined: after the separator, in
/// the repetition, at a sum; in a Bigram sequence, story or text at every position. Immutable.
///   Copy, Reverse, Sort  T = 2 length       "akmz>akm", then "z": questions of `shortest` to length symbols; the rest is padding
///   Repeat               T = 2 length - 1   a string of `shortest` to length different symbols, repeated
///   Addition             T = 4              "41 + 93 =", then "37"
///   Bigram, Text         T = length
///   Sum                  T = 6 length + 2   "347+586:13,13,09=93", then "3": everything after ":" is asked for
///   Stories              T = length         a story, cut off or padded; some in training with new words (new_words.hpp)
///   FillIn               T = length         a story, cut off or padded, with some words replaced by "_" and asked for
///   Translate            ">", then the translation of the encoder's sentence (engine/grammar/toy_languages.hpp), both padded
/// Validation sequences never appear in training batches. Which side a sequence is on depends on its content (the question; the two
/// summands in either order; a whole Bigram sequence or story, whichever words are hidden; the sentence to translate); of a text, the last
/// part is held out.
class Dataset {
public:
    /// Throws ConfigError for sizes out of range, too few different sequences, or a text too short for a window in each part.
    /// `words`: of a model that is trained further, by id, "" where an id has no text (given_words.hpp); empty: the task's symbols are the
    /// vocabulary.
    Dataset(const TaskSettings& settings, std::uint64_t seed, std::span<const std::string> words = {});
    ~Dataset();
    Dataset(Dataset&&) noexcept;
    Dataset& operator=(Dataset&&) noexcept;

    const Tokenizer& tokenizer() const { return tokenizer_; }
    std::int64_t length() const { return length_; }                ///< T of every batch
    std::int64_t source_length() const { return source_length_; }  ///< of every batch's source; 0 if the task has none
    /// The batch of step `step`, which depends only on seed, step and size: a run's position in its data is its number of steps. Sequence b
    /// does not depend on the size. Allocates only if the batch was smaller before.
    void training_batch(std::int64_t step, std::int64_t size, Batch& batch) const;
    const Batch& validation() const { return validation_; }
    /// The same sequences by length, ascending.
    const std::vector<HeldOutLength>& validation_by_length() const { return by_length_; }
    /// One of the longest held-out sequences, as text; its attention is shown during training.
    const std::string& probe() const { return probe_; }
    /// The probe's encoder input; "" if the task has none.
    const std::string& probe_source() const { return probe_source_; }
    /// The probe as a batch of one, without padding.
    Batch probe_batch() const;

private:
    std::unique_ptr<const SequenceSource> source_;
    Tokenizer tokenizer_;
    std::uint64_t seed_;
    std::int64_t length_, source_length_;
    Batch validation_;
    std::vector<HeldOutLength> by_length_;
    std::string probe_, probe_source_;
};

}  // namespace attn
