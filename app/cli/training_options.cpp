#include "app/cli/training_options.hpp"

#include <fmt/core.h>

#include <functional>
#include <utility>

#include "app/cli/number_checks.hpp"
#include "app/session/document/named_runs.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/recording_document.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/session.hpp"
#include "app/session/values/gradients.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/moment_steps.hpp"

namespace attn::app {
namespace {

RunSettings settings_of(const TrainingOptions& options) {
    RunSettings settings = default_run(task_kind(options.task));
    if (options.seed) settings.seed = *options.seed;
    if (options.steps) settings.stop.steps = settings.train.schedule.total_steps = *options.steps;
    return settings;
}

}  // namespace

std::vector<std::string> task_names() {
    std::vector<std::string> names;
    for (const TaskInfo& info : tasks()) names.emplace_back(info.name);
    return names;
}

void add_training_options(CliCommand command, TrainingOptions& options) {
    const Argument task =
        command.option("--task", options.task, with_names("Train on this task first", task_names())).shown_as("NAME").suggest(task_names());
    command.option("--steps", options.steps, "Training steps; as many as the task needs by default")
        .shown_as("N")
        .between(1, 1000000)
        .needs(task);
    command.option("--seed", options.seed, "Seed of the training run").shown_as("N").check(check_whole_number).needs(task);
    command.option("--run", options.run, "Use this training run: its folder, or a checkpoint").shown_as("DIR").excludes(task);
    command
        .option("--step", options.step,
                "The training step whose model is used, or the nearest one kept, or the recorded step; the newest by default")
        .shown_as("N")
        .between(0, 1000000000);
}

std::int64_t kept_step(const Session& session, std::int64_t step) {
    const RunStatus& run = *session.training().status;
    const std::int64_t kept = named_moment(run.moments, run.step, step);
    if (kept != step) fmt::print(stderr, "attnscope: step {} was not kept: using step {}, the nearest that was\n", step, kept);
    return kept;
}

void open_runs_of_document(Session& session, const DocumentOptions& options) {
    const Document given = session.document();
    if (options.document.empty() || named_runs(given).empty()) return;
    session.apply({command::OpenFile{options.document}, ""});
    session.wait_for_files();
    session.wait_for_training();
    if (session.files().failed) throw Error(session.files().notice);
    if (options.gives_text() || !options.sources.empty()) session.apply({command::SetTexts{given.texts, given.source_texts}, ""});
    if (!options.bug.empty()) session.apply({command::SetForward{given.forward}, ""});
    if (!session.message().empty()) throw Error(session.message());
}

namespace {

void show_step(Session& session, std::optional<std::int64_t> step) {
    if (step) session.apply({command::OpenDocument{document_of_recording(session.document().recorded->recording, step)}, ""});
}

}  // namespace

void prepare_training(Session& session, const TrainingOptions& options, const DocumentOptions& document) {
    if (!options.given()) {
        if (!document.recording.empty()) return show_step(session, options.step);
        if (options.step) throw Error("--step needs a training run, --task or --run, or a --recording");
        return open_runs_of_document(session, document);
    }
    if (document.gives_model()) throw Error("--task and --run have their own model: --preset, --document, --model and --bug do not apply");
    const std::vector<std::string> texts = given_texts(document);
    if (options.run.empty()) {
        session.apply({command::SetRun{settings_of(options)}, ""});
        session.apply({command::StartTraining{}, ""});
    } else {
        session.apply({command::OpenCheckpoint{folder_of_part(options.run)}, ""});
    }
    session.wait_for_training();
    const RunStatus& now = *session.training().status;
    if (now.phase == TrainingPhase::Failed) throw Error(now.message);
    if (now.run == 0) throw Error(now.notice);
    if (options.step) session.apply({command::ShowMoment{kept_step(session, *options.step)}, ""});
    if (!texts.empty()) session.apply({command::SetTexts{texts, {}}, ""});
    if (!session.message().empty()) throw Error(session.message());
}

namespace {

using Check = std::function<void(const Setup&, double room_mib)>;

/// `check` is called before anything is computed.
ComputedState compute(const DocumentOptions& document, const TrainingOptions& training, bool gradients, const Check& check) {
    const double mib = memory_budget_mib(document);
    Document shown = make_document(document);
    if (check && !training.given() && !shown.recorded) check(shown, mib);
    Session session(
        std::move(shown), [] {}, mib);
    prepare_training(session, training, document);
    if (check && training.given()) check(session.document(), mib);
    ComputedState computed{session.wait(), nullptr};
    if (!computed.snapshot->problem.empty()) throw Error(computed.snapshot->problem);
    expect_edits_to_apply(document, *computed.snapshot->trace);
    tell_idle_mistake(*computed.snapshot->trace);
    if (gradients) computed.gradients = session.get(facet::Gradients{});
    return computed;
}

}  // namespace

ComputedState compute(const DocumentOptions& document, const TrainingOptions& training, bool gradients) {
    return compute(document, training, gradients, Check());
}

ComputedState compute_stages(const DocumentOptions& document, const TrainingOptions& training, const std::optional<StageId>& written) {
    return compute(document, training, false,
                   [&](const Setup& setup, double room_mib) { expect_room_for_parts(setup, room_mib, written); });
}

}  // namespace attn::app
