#pragma once
/// One training step, and everything that a run carries from step to step.

#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/model/model_pass.hpp"
#include "engine/train/adamw.hpp"
#include "engine/train/run_settings.hpp"

namespace attn {

struct StepResult {
    double loss = 0;
    std::int64_t counted = 0;  ///< targets that counted; 0: nothing to learn, the parameters are unchanged
    std::int64_t correct = 0;  ///< counted targets that have the largest logit
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
                          const TrainSettings& settings, std::stop_token stop = {});

    const Parameters<Scalar>& parameters() const { return parameters_; }
    /// Of the last step, before clipping.
    const Parameters<Scalar>& gradients() const { return shares_.front().gradients->values; }
    Adamw<Scalar>& optimizer() { return optimizer_; }
    const Adamw<Scalar>& optimizer() const { return optimizer_; }
    std::int64_t steps() const { return optimizer_.steps(); }
    /// Takes up a run where a checkpoint left it. Throws ShapeError unless the configuration is that of this state, ConfigError
    /// for a negative number of steps.
    void restore(const Parameters<Scalar>& parameters, std::span<const Scalar> first_moments, std::span<const Scalar> second_moments,
                 std::int64_t steps);

private:
    /// A share of the batch's sequences with gradients of its own. Runs of a few sequences go through the whole model and back while they
    /// are in the cache, those of one share one after the other. How a batch is shared depends on the model and the batch alone, never on
    /// the threads; which thread makes which run is left open, because processors are seldom equally fast.
    struct Share {
        std::unique_ptr<Gradients<Scalar>> gradients;
        CrossEntropy sum;
        std::exception_ptr failure;
        std::int64_t first = 0, next = 0, last = 0;  ///< sequences of the batch
        bool waits = false;                          ///< there is something to be done, and nobody at work on it
        std::int64_t left() const { return last - next; }
    };
    /// The memory of one thread's runs.
    struct Worker {
        std::unique_ptr<ModelPass<Scalar>> pass;
        TokenBatch tokens, source;
    };
    /// What all runs of one step share.
    struct Work {
        const TokenBatch &tokens, &source;
        std::span<const std::int32_t> targets;
        std::int64_t counted, at_once;  ///< targets that count; sequences of a run
        bool learns;
        const std::stop_token& stop;
    };

    CrossEntropy run(const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets, bool learns,
                     std::stop_token stop);
    void split_batch(std::int64_t sequences, bool learns);
    void make_workers(std::int64_t workers);
    Share* take_share(Share* last);
    void run_next(Worker& worker, Share& share, const Work& work) const;
    void add_gradients();

    Parameters<Scalar> parameters_;
    PackedWeights<Scalar> packed_;  ///< of a step's parameters
    std::vector<Share> shares_;
    std::mutex taking_;            ///< guards Share::waits
    std::vector<Worker> workers_;  ///< one for each thread
    Adamw<Scalar> optimizer_;
    ForwardSettings forward_;
};

}  // namespace attn
