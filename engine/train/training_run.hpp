#pragma once
/// A training run: task, model, optimizer and progress. Driven both by the window's trainer and by the command line.

#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "engine/tasks/dataset.hpp"
#include "engine/train/curve.hpp"
#include "engine/train/history.hpp"
#include "engine/train/not_finite.hpp"
#include "engine/train/start_model.hpp"
#include "engine/train/train_step.hpp"

namespace attn {

/// Not thread-safe.
class TrainingRun {
public:
    /// Opens the model that settings.from names, if any. Throws ConfigError like validate() and Dataset, and if that model cannot be
    /// trained on the task; FileError if it cannot be read.
    explicit TrainingRun(const RunSettings& settings, std::size_t history_budget = History::kDefaultBudget);
    /// The same with the model of settings.from as it was when the run began, or is now: only its sizes and words count for a run that is
    /// restored next.
    TrainingRun(const RunSettings& settings, const StartModel& from, std::size_t history_budget);
    ~TrainingRun();
    TrainingRun(TrainingRun&&) noexcept;
    TrainingRun& operator=(TrainingRun&&) noexcept;
    /// Continues a run: the losses that follow have the same bits as without the interruption. Throws ShapeError unless parameters and
    /// moments match the settings' model, ConfigError if the vocabulary differs. `earlier` moments (of the same run, by ascending step)
    /// from before `steps` enter the history.
    void restore(const Parameters<float>& parameters, std::span<const float> first_moments, std::span<const float> second_moments,
                 std::int64_t steps, std::span<const Moment> earlier = {}, const Plateau& plateau = {});

    const RunSettings& settings() const;  ///< including the model's sizes
    const Dataset& dataset() const;
    const TrainingState<float>& state() const;
    /// Changes the history's budget.
    void limit_history(std::size_t budget_bytes);
    /// See History::hold().
    void hold(std::span<const Moment> named);
    const History& history() const;
    const Plateau& plateau() const;
    std::int64_t steps() const;
    /// Copies the current parameters; the history keeps them as its newest moment.
    Moment keep();

    /// Adopts the settings that apply to a run under way, and ignores those that would require a new model (see same_model()). Throws
    /// ConfigError if one is out of range, changing nothing. If the number of steps changes and exceeds the schedule's, the schedule is
    /// extended to match; a schedule with another total is joined without a jump (see continued_schedule()).
    void apply(const RunSettings& settings);

    /// One step on the next batch; the history keeps the parameters if due. Throws NotFinite naming the first faulty tensor, with
    /// parameters unchanged, and Cancelled once `stop` is requested. Seconds and tokens count from the start or the last restore().
    LossPoint step(std::stop_token stop = {});
    /// Whether the current model still has to be evaluated: it does when untrained, every settings().evaluate_every steps, and at the last
    /// step.
    bool evaluation_due() const;
    /// Evaluates the whole validation set, without dropout.
    ValidationPoint evaluate(std::stop_token stop = {});
    /// Why the run ends here ("2,000 steps done", "validation accuracy 99.2 %"), as of the last evaluation; "" if it goes on.
    std::string finished() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The scores of every head on a sequence such as Dataset::probe_batch(), without dropout.
HeadPoint score_heads(std::shared_ptr<const Parameters<float>> parameters, const Batch& sequence, ForwardSettings settings,
                      std::int64_t step, std::stop_token stop = {});

}  // namespace attn
