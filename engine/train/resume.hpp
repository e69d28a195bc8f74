#pragma once
/// From a training run to a checkpoint and back.

#include <memory>

#include "engine/train/checkpoint.hpp"
#include "engine/train/training_run.hpp"

namespace attn {

/// The run as it stands, with a copy of its parameters and moments.
Checkpoint take_checkpoint(const TrainingRun& run);

/// A run that goes on where `checkpoint` was taken, with the same bits. Throws ConfigError for a checkpoint that holds only a model, or
/// whose vocabulary is not that of its task. The history begins with the `earlier` moments of the run.
std::unique_ptr<TrainingRun> resume_run(const Checkpoint& checkpoint, std::size_t history_budget = History::kDefaultBudget,
                                        std::span<const Moment> earlier = {});

}  // namespace attn
