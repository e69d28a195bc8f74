#pragma once
/// Everything that determines a training run: task, model, training and stopping. Plain values.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/config.hpp"
#include "engine/tasks/task_settings.hpp"
#include "engine/trace/trace.hpp"
#include "engine/train/schedule.hpp"

namespace attn {

struct AdamwSettings {
    double beta1 = 0.9;
    double beta2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0.1;
    bool decay_everything = false;  ///< false: biases and norms are exempt
    bool operator==(const AdamwSettings&) const = default;
};

struct TrainSettings {
    AdamwSettings adamw;
    Schedule schedule;
    double clip_norm = 1;     ///< limit of the global gradient norm; 0 = off
    ForwardSettings forward;  ///< the dropout seed is the run's; every step derives its own pattern
    bool operator==(const TrainSettings&) const = default;
};

/// The run ends as soon as any of these conditions is met; 0 disables one.
struct StopAt {
    std::int64_t steps = 2000;
    double loss = 0;           ///< validation loss at most this
    double accuracy = 0;       ///< validation accuracy at least this, in [0, 1]
    std::int64_t plateau = 0;  ///< this many evaluations in a row without a better validation loss
    bool operator==(const StopAt&) const = default;
};

struct RunSettings {
    // Changes of these require a new model and take effect with a new run.
    TaskSettings task;
    /// Folder or GGUF file of the model whose parameters are trained further; "": random ones from the seed.
    std::string from{};
    Config model;            ///< vocab_size and context_length are ignored and follow from the task; with `from`, all is that model's
    std::uint64_t seed = 1;  ///< of parameters, data and dropout
    // Changes of these apply to a run under way.
    TrainSettings train;
    std::int64_t batch_size = 32;
    std::int64_t evaluate_every = 25;  ///< steps between evaluations on the validation set
    StopAt stop;
    bool operator==(const RunSettings&) const = default;
};

/// A run that learns its task in under a minute on two cores.
RunSettings default_run(TaskKind kind);
/// Whether both settings can be used with the same model.
bool same_model(const RunSettings& a, const RunSettings& b);
/// The learning rates that remain for a run after `steps` steps, up to stop.steps, in the form of turning_rates(); for an endless run, up
/// to where they stay constant.
std::vector<RateAt> rates_left(const RunSettings& settings, std::int64_t steps);
/// A message if all of them are 0; "" if one is not, or if no step is left.
std::string learns_nothing(const RunSettings& settings, std::int64_t steps);
/// Throws ConfigError saying which setting is out of range and what would be valid.
void validate(const RunSettings& settings);

}  // namespace attn
