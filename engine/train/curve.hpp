#pragma once
/// What a training run reports at each step; plain values.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/trace/head_score.hpp"

namespace attn {

/// One optimizer step. The loss is that of the step's batch before the update; `step` is the number of finished steps, so the first is 1.
struct LossPoint {
    std::int64_t step = 0;
    double loss = 0;           ///< nats per counted token
    double accuracy = 0;       ///< on the batch, in [0, 1]
    double gradient_norm = 0;  ///< before clipping
    double learning_rate = 0;
    double seconds = 0;       ///< of training so far, without pauses
    std::int64_t tokens = 0;  ///< trained on so far, without padding
    bool operator==(const LossPoint&) const = default;
};

/// Accuracy on questions of one length.
struct LengthAccuracy {
    std::int64_t length = 0;  ///< see HeldOutLength
    double accuracy = 0;
    bool operator==(const LengthAccuracy&) const = default;
};

/// The model after `step` steps (0: untrained), evaluated on the whole validation set.
struct ValidationPoint {
    std::int64_t step = 0;
    double loss = 0;
    double accuracy = 0;
    std::vector<LengthAccuracy> by_length = {};  ///< lengths ascending; empty if the task has no lengths
    bool operator==(const ValidationPoint&) const = default;
};

/// How long a run has gone without improving its validation loss.
struct Plateau {
    std::optional<std::int64_t> step;  ///< last evaluation counted
    double best_loss = std::numeric_limits<double>::infinity();
    std::int64_t without_better = 0;  ///< evaluations since the best one
    bool operator==(const Plateau&) const = default;

    /// Evaluating the same step again does not count.
    void count(const ValidationPoint& point);
};

/// The scores of every head on the fixed probe after `step` steps.
struct HeadPoint {
    std::int64_t step = 0;
    std::vector<HeadScore> scores;
};

}  // namespace attn
