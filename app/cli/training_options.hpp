#pragma once
/// --task, --steps, --seed, --run, --step: the training run whose model a command takes.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/arguments.hpp"
#include "app/cli/document_options.hpp"
#include "app/session/facets/snapshot.hpp"
#include "engine/trace/gradient_trace.hpp"

namespace attn::app {

class Session;

struct TrainingOptions {
    std::string task;
    std::optional<std::int64_t> steps;
    std::optional<std::uint64_t> seed;
    std::filesystem::path run;         ///< a folder or checkpoint of a run, in place of a task
    std::optional<std::int64_t> step;  ///< the moment taken; none: the newest
    bool given() const { return !task.empty() || !run.empty(); }
};

/// copy, reverse, ...
std::vector<std::string> task_names();

void add_training_options(CliCommand command, TrainingOptions& options);

/// The step of the kept moment of the session's run nearest to `step`; says on stderr which one it is when that very step was not kept.
/// Throws Error for a step after the run's last one and for one halfway between two moments.
std::int64_t kept_step(const Session& session, std::int64_t step);

/// Trains, or opens the run, makes the document's model the one asked for, and gives it the texts of `document`, if there are any. Throws
/// Error saying what could not be done, and where `document` gives a model too.
void prepare_training(Session& session, const TrainingOptions& options, const DocumentOptions& document);

/// A state, and the gradients of its numbers if they were asked for.
struct ComputedState {
    std::shared_ptr<const Snapshot> snapshot;
    std::shared_ptr<const GradientTrace<float>> gradients;
};

/// The trace of the document, or of the model that was trained or opened. Throws Error with the reason when there is none, and as
/// prepare_training() and expect_edits_to_apply() do.
ComputedState compute(const DocumentOptions& document, const TrainingOptions& training, bool gradients = false);

}  // namespace attn::app
