#pragma once
/// One training step, and everything that a run carries from step to step.

#include <span>
#include <string>

#include "engine/model/model_pass.hpp"
#include "engine/train/adamw.hpp"
#include "engine/train/run_settings.hpp"

namespace attn {

struct StepResult {
    double loss = 0;
    std::int64_t counted = 0;  ///< targets that counted; 0: nothing to learn, the parameters are unchanged
    double gradient_norm = 0;  ///< before clipping
    double learning_rate = 0;
    /// The loss, or the first parameter whose gradient is not finite ("layers.0.ffn.in.weight"); "" when all is well. The parameters
    /// and the optimizer are then unchanged.
    std::string not_finite;
    bool applied() const { return counted > 0 && not_finite.empty(); }
};

/// A model in training. Same parameters, batches and settings, same bits, with any number of threads. A step allocates nothing once
/// one of its batch size has been made.
template <class Scalar>
class TrainingState {
public:
    explicit TrainingState(Parameters<Scalar> parameters);
    TrainingState(const TrainingState&) = delete;
    TrainingState& operator=(const TrainingState&) = delete;

    /// Forward, backward, clip, AdamW.
    ///   targets [B,T], kIgnoredTarget where nothing is to be predicted
    /// Throws as require_batch, cross_entropy, learning_rate, clip_factor and Adamw::step do; the state is then unchanged. Throws
    /// Cancelled between stages once `stop` is requested.
    StepResult step(const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets,
                    const TrainSettings& settings, std::stop_token stop = {});

    /// Loss of a batch without dropout and without learning.
    CrossEntropy evaluate(const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets,
                          const TrainSettings& settings);
    /// [B,T,V] of the last batch.
    const Tensor<Scalar>& logits() const { return pass_.logits(); }

    const Parameters<Scalar>& parameters() const { return parameters_; }
    const Parameters<Scalar>& gradients() const { return pass_.gradients(); }
    Adamw<Scalar>& optimizer() { return optimizer_; }
    const Adamw<Scalar>& optimizer() const { return optimizer_; }
    std::int64_t steps() const { return optimizer_.steps(); }
    /// Takes up a run where a checkpoint left it. Throws ShapeError unless the configuration is that of this state.
    void restore(const Parameters<Scalar>& parameters, std::span<const Scalar> first_moments, std::span<const Scalar> second_moments,
                 std::int64_t steps);

private:
    Parameters<Scalar> parameters_;
    ModelPass<Scalar> pass_;
    Adamw<Scalar> optimizer_;
    ForwardSettings forward_;
};

}  // namespace attn
