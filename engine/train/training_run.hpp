#pragma once
/// A training run: task, model, optimizer and where they stand. The window's trainer and the command line drive the same one.

#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "engine/train/curve.hpp"
#include "engine/train/dataset.hpp"
#include "engine/train/history.hpp"
#include "engine/train/train_step.hpp"

namespace attn {

/// One thread at a time.
class TrainingRun {
public:
    /// Throws ConfigError as validate() and Dataset do.
    explicit TrainingRun(const RunSettings& settings, std::size_t history_budget = History::kDefaultBudget);
    /// Takes up a run where it was: the following losses are the same bits as without the interruption. Throws ShapeError unless
    /// parameters and moments are those of the settings' model, ConfigError when the vocabulary is another.
    void restore(const Parameters<float>& parameters, std::span<const float> first_moments, std::span<const float> second_moments,
                 std::int64_t steps);

    const RunSettings& settings() const;  ///< with the model's sizes filled in
    const Dataset& dataset() const;
    const TrainingState<float>& state() const;
    const History& history() const;
    std::int64_t steps() const;

    /// Takes over what applies to a run under way; throws ConfigError and changes nothing when it is out of range or takes a new model.
    void apply(const RunSettings& settings);

    /// One step on the next batch. Throws NotFinite (parameters unchanged) naming the tensor that went bad first,
    /// Cancelled once `stop` is requested.
    LossPoint step(std::stop_token stop = {});
    /// True when this step is to be evaluated: the first, every settings().evaluate_every-th, and the last.
    bool evaluation_due() const;
    ValidationPoint evaluate(std::stop_token stop = {});
    /// Why the run ends here ("2,000 steps done", "validation accuracy 99.2 %"); "" while it goes on.
    std::string finished() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace attn
