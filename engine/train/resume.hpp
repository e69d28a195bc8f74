#pragma once
/// Converts between training runs and checkpoints.

#include <memory>

#include "engine/train/checkpoint.hpp"
#include "engine/train/training_run.hpp"

namespace attn {

/// The run's current state, with copies of its parameters and moments.
Checkpoint take_checkpoint(const TrainingRun& run);

/// A run that continues from the checkpoint, bit for bit. Throws ConfigError if the checkpoint holds only a model, or if its vocabulary is
/// not that of its task. `earlier` moments of the run become the beginning of its history.
std::unique_ptr<TrainingRun> resume_run(const Checkpoint& checkpoint, std::size_t history_budget = History::kDefaultBudget,
                                        std::span<const Moment> earlier = {});

}  // namespace attn
