#pragma once
/// A training step, and everything a run carries from step to step.

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
    std::int64_t counted = 0;  ///< targets that count; 0: nothing to learn, parameters unchanged
    std::int64_t correct = 0;  ///< counted targets with the largest logit
    double gradient_norm = 0;  ///< before clipping
    double learning_rate = 0;
    /// "the loss", or the first parameter whose gradient is not finite ("layers.0.ffn.in.weight"); "" if all are finite. Otherwise
    /// parameters and optimizer are unchanged.
    std::string not_finite;
    bool applied() const { return counted > 0 && not_finite.empty(); }
};

/// A model in training. The same parameters, batches and settings give the same bits with any number of threads. After the first step of a
/// given batch size, steps allocate nothing.
template <class Scalar>
class TrainingState {
public:
    explicit TrainingState(Parameters<Scalar> parameters);
    TrainingState(const TrainingState&) = delete;
    TrainingState& operator=(const TrainingState&) = delete;

    /// Forward pass, backward pass, clipping, AdamW.
    ///   targets [B,T], kIgnoredTarget where nothing is to be predicted
    /// Throws like require_batch(), cross_entropy(), learning_rate(), clip_factor() and Adamw::step(), leaving the state unchanged. Throws
    /// Cancelled between stages once `stop` is requested.
    StepResult step(const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets,
                    const TrainSettings& settings, std::stop_token stop = {});

    /// Loss on a batch, without dropout and without an update.
    CrossEntropy evaluate(const TokenBatch& tokens, const TokenBatch& source, std::span<const std::int32_t> targets,
                          const TrainSettings& settings, std::stop_token stop = {});

    const Parameters<Scalar>& parameters() const { return parameters_; }
    /// Gradients of the last step, before clipping.
    const Parameters<Scalar>& gradients() const { return shares_.front().gradients->values; }
    Adamw<Scalar>& optimizer() { return optimizer_; }
    const Adamw<Scalar>& optimizer() const { return optimizer_; }
    std::int64_t steps() const { return optimizer_.steps(); }
    /// Continues a run from a checkpoint. Throws ShapeError unless the configuration is this state's, ConfigError for a negative number of
    /// steps.
    void restore(const Parameters<Scalar>& parameters, std::span<const Scalar> first_moments, std::span<const Scalar> second_moments,
                 std::int64_t steps);

private:
    /// A share of the batch's sequences, with gradients of its own. It is processed in runs of a few sequences, each of which goes forward
    /// and backward while it is in the cache. The division into shares depends only on model and batch, not on threads; which thread makes
    /// which run is left open, because processors are rarely equally fast.
    struct Share {
        std::unique_ptr<Gradients<Scalar>> gradients;
        CrossEntropy sum;
        std::exception_ptr failure;
        std::int64_t first = 0, next = 0, last = 0;  ///< sequences of the batch
        bool waits = false;                          ///< has work left and no thread working on it
        std::int64_t left() const { return last - next; }
    };
    /// A thread's memory for runs.
    struct Worker {
        std::unique_ptr<ModelPass<Scalar>> pass;
        TokenBatch tokens, source;
    };
    /// What all runs of a step share.
    struct Work {
        const TokenBatch &tokens, &source;
        std::span<const std::int32_t> targets;
        std::int64_t counted, at_once;  ///< counted targets; sequences per run
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
    PackedWeights<Scalar> packed_;  ///< of the current step's parameters
    std::vector<Share> shares_;
    std::mutex taking_;            ///< guards Share::waits
    std::vector<Worker> workers_;  ///< one per thread
    Adamw<Scalar> optimizer_;
    ForwardSettings forward_;
};

}  // namespace attn
