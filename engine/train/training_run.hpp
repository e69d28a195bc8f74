#pragma once
/// A training run: task, model, optimizer and where they stand. The window's trainer and the command line drive the same one.

#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "engine/train/curve.hpp"
#include "engine/train/dataset.hpp"
#include "engine/train/history.hpp"
#include "engine/train/not_finite.hpp"
#include "engine/train/train_step.hpp"

namespace attn {

/// One thread at a time.
class TrainingRun {
public:
    /// Throws ConfigError as validate() and Dataset do.
    explicit TrainingRun(const RunSettings& settings, std::size_t history_budget = History::kDefaultBudget);
    ~TrainingRun();
    TrainingRun(TrainingRun&&) noexcept;
    TrainingRun& operator=(TrainingRun&&) noexcept;
    /// Takes up a run where it was: the following losses are the same bits as without the interruption. Throws ShapeError unless
    /// parameters and moments are those of the settings' model, ConfigError when the vocabulary is another. `earlier` moments (of the same
    /// run, steps ascending) that lie before `steps` are kept in the history.
    void restore(const Parameters<float>& parameters, std::span<const float> first_moments, std::span<const float> second_moments,
                 std::int64_t steps, std::span<const Moment> earlier = {}, const Plateau& plateau = {});

    const RunSettings& settings() const;  ///< with the model's sizes filled in
    const Dataset& dataset() const;
    const TrainingState<float>& state() const;
    /// Another budget for the history from now on.
    void limit_history(std::size_t budget_bytes);
    const History& history() const;
    const Plateau& plateau() const;
    std::int64_t steps() const;
    /// A copy of the parameters now, which the history keeps as its newest moment.
    Moment keep();

    /// Takes over what applies to a run under way; throws ConfigError and changes nothing when it is out of range. What takes a new model
    /// is left as it is (see same_model()). A run that is to make other steps than before, and more than its schedule has, gets a schedule
    /// of as many; a schedule of another total is joined without a jump (see continued_schedule()).
    void apply(const RunSettings& settings);

    /// One step on the next batch; the history keeps the parameters when they are due. Throws NotFinite (parameters unchanged) naming the
    /// tensor that went bad first, Cancelled once `stop` is requested. Seconds and tokens count from the start or the last restore().
    LossPoint step(std::stop_token stop = {});
    /// True when the model as it stands is still to be evaluated: untrained, every settings().evaluate_every steps, and at the last step.
    bool evaluation_due() const;
    /// On the whole validation set, without dropout.
    ValidationPoint evaluate(std::stop_token stop = {});
    /// Why the run ends here ("2,000 steps done", "validation accuracy 99.2 %"), as of the last evaluation; "" while it goes on.
    std::string finished() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Every head's scores on a sequence such as Dataset::probe_batch(), without dropout.
HeadPoint score_heads(std::shared_ptr<const Parameters<float>> parameters, const Batch& sequence, ForwardSettings settings,
                      std::int64_t step, std::stop_token stop = {});

}  // namespace attn
