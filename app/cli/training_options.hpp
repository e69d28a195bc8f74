#pragma once
/// --task, --steps, --seed, --run, --step: the training run whose model a command uses.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/arguments.hpp"
#include "app/cli/document_options.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/trace/gradient_trace.hpp"

namespace attn::app {

class Session;

struct TrainingOptions {
    std::string task;
    std::optional<std::int64_t> steps;
    std::optional<std::uint64_t> seed;
    std::filesystem::path run;         ///< a run's folder or checkpoint, instead of a task
    std::optional<std::int64_t> step;  ///< the moment to use; none: the newest
    bool given() const { return !task.empty() || !run.empty(); }
};

/// "copy", "reverse", ...
std::vector<std::string> task_names();

void add_training_options(CliCommand command, TrainingOptions& options);

/// The step of the run's saved moment nearest to `step`; prints it to stderr if it is a different one. Throws Error for a step after the
/// run's last one and for one exactly halfway between two moments.
std::int64_t kept_step(const Session& session, std::int64_t step);

/// Opens the document again, with the runs that it names, if it names any. Throws Error if one cannot be opened.
void open_runs_of_document(Session& session, const DocumentOptions& options);

/// Trains or opens the run or those that the document names, makes its model the document's, and applies the texts of `document`, if any.
/// Throws Error saying what failed, or if `document` specifies a model too.
void prepare_training(Session& session, const TrainingOptions& options, const DocumentOptions& document);

/// A computed state, with the gradients if requested.
struct ComputedState {
    std::shared_ptr<const Snapshot> snapshot;
    std::shared_ptr<const GradientTrace<float>> gradients;
};

/// Computes the document, or the trained or opened model. Throws Error with the reason if that is impossible, and as prepare_training() and
/// expect_edits_to_apply() do.
ComputedState compute(const DocumentOptions& document, const TrainingOptions& training, bool gradients = false);
/// The same for stages that are written to a file, which are refused first if the part of the model around them exceeds the memory budget.
/// None: all stages.
ComputedState compute_stages(const DocumentOptions& document, const TrainingOptions& training, const std::optional<StageId>& written = {});

}  // namespace attn::app
