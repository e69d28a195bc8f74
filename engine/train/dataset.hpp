#pragma once
/// Training batches and the validation set of a task.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/io/tokenizer.hpp"
#include "engine/model/batch.hpp"
#include "engine/train/run_settings.hpp"

namespace attn {

struct Batch {
    TokenBatch tokens;
    std::vector<std::int32_t> targets;  ///< [B,T], kIgnoredTarget where nothing is to be predicted
};

/// Immutable. Validation sequences never appear in training batches.
class Dataset {
public:
    /// Throws ConfigError for sizes out of range or a text too short for one window in each part.
    Dataset(const TaskSettings& settings, std::uint64_t seed);

    const Tokenizer& tokenizer() const { return tokenizer_; }
    std::int64_t length() const { return length_; }  ///< T of every batch
    /// The batch of step `step`, a function of seed, step and size alone: where a run stands in its data is its number of steps.
    void training_batch(std::int64_t step, std::int64_t size, Batch& batch) const;
    const Batch& validation() const { return validation_; }
    /// A held-out sequence as text, with which attention is watched while the run goes on.
    const std::string& probe() const { return probe_; }

private:
    Tokenizer tokenizer_;
    std::int64_t length_ = 0;
    Batch validation_;
    std::string probe_;
};

}  // namespace attn
