#include "app/session/lessons/lesson_goal.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/session/training/trained_document.hpp"
#include "engine/train/moment_steps.hpp"

namespace attn::app {
namespace {

const std::string kMerge = "lesson";  // merges all steps of a lesson into one undo step

bool at_rest(const RunStatus& run) { return run.phase == TrainingPhase::Finished || run.phase == TrainingPhase::Failed; }

std::vector<std::string> texts_of(const LessonTraining& training, const RunStatus& run) {
    return training.texts.value_or(std::vector{run.probe});
}

std::vector<std::string> sources_of(const LessonTraining& training, const RunStatus& run) {
    return training.texts || run.probe_source.empty() ? std::vector<std::string>() : std::vector{run.probe_source};
}

ForwardSettings forward_of(const LessonTraining& training, const RunStatus& run) {
    if (training.forward) return *training.forward;
    ForwardSettings forward = run.settings.train.forward;
    forward.dropout = {};
    return forward;
}

/// The moment that the step wants to show. The run may have gone on beyond the step, or have ended before that moment.
std::optional<std::int64_t> wanted_moment(const LessonTraining& training, const RunStatus& run) {
    if (training.moment && *training.moment <= run.step) return training.moment;
    if (training.moment) return {};
    if (run.step > training.run.stop.steps) return training.run.stop.steps;
    return {};
}

/// The moment that the step shows: the kept one nearest to that.
std::optional<std::int64_t> moment_of(const LessonTraining& training, const RunStatus& run) {
    const std::optional<std::int64_t> wanted = wanted_moment(training, run);
    if (!wanted || run.moments.empty()) return wanted;
    return run.moments[nearest_moment(run.moments, *wanted)];
}

}  // namespace

LessonGoal::LessonGoal(LessonStep step, bool restart) : step_(std::move(step)), done_(false), restart_(restart) {}

bool LessonGoal::is_ours(const RunStatus& run) const {
    return run.run != 0 && !restart_ && run.run != replaced_ && same_model(run.settings, step_.training->run);
}

std::vector<Command> LessonGoal::next(const Document& now, const TrainingReport& training) {
    if (done_) return {};
    const RunStatus& run = *training.status;
    if (step_.training) return is_ours(run) ? go_on(now, run) : begin_run(run);
    done_ = true;
    std::vector<Command> commands;
    if (run.phase == TrainingPhase::Running) commands.push_back({command::PauseTraining{}, ""});
    commands.push_back({command::OpenDocument{step_.document}, kMerge});
    return commands;
}

std::vector<Command> LessonGoal::begin_run(const RunStatus& run) {
    if (ordered_) return {};
    asks_ = run.run != 0 && run.step > 0 && !allowed_;
    if (asks_) return {};
    ordered_ = started_ = true;
    restart_ = false;
    replaced_ = run.run;
    return {{command::SetRun{step_.training->run}, kMerge}, {command::RestartTraining{}, ""}};
}

std::vector<Command> LessonGoal::go_on(const Document& now, const RunStatus& run) {
    std::vector<Command> commands;
    const RunSettings& wanted = step_.training->run;
    if (!std::exchange(started_, true)) {
        const bool reached = run.step >= wanted.stop.steps || (run.phase == TrainingPhase::Finished && run.settings.stop == wanted.stop);
        commands.push_back({command::SetRun{wanted}, kMerge});
        // Also if it is running: it may reach its old stop condition before the new one arrives.
        if (!reached) commands.push_back({command::StartTraining{}, ""});
        if (!reached && step_.training->moment) show(run, {}, commands);  // shown until the run gets there
    } else if (!now.trained || now.trained->run != run.run) {
        return {};  // the session is about to adopt the run
    }
    const std::optional<std::int64_t>& moment = step_.training->moment;
    if (moment && run.step < *moment && !at_rest(run)) return commands;
    show(run, moment_of(*step_.training, run), commands);
    done_ = true;
    return commands;
}

void LessonGoal::show(const RunStatus& run, std::optional<std::int64_t> moment, std::vector<Command>& commands) {
    commands.push_back({command::ShowMoment{moment}, kMerge});
    commands.push_back({command::SetTexts{texts_of(*step_.training, run), sources_of(*step_.training, run)}, kMerge});
    commands.push_back({command::SetForward{forward_of(*step_.training, run)}, kMerge});
}

Document shown_document(const LessonStep& step, const RunStatus& run) {
    if (!step.training) return step.document;
    Document document = document_of_run({}, run, {}, {});
    document.texts = texts_of(*step.training, run);
    document.source_texts = sources_of(*step.training, run);
    document.forward = forward_of(*step.training, run);
    return document;
}

std::string missing_moment(const LessonStep& step, const RunStatus& run) {
    if (!step.training) return "";
    if (const auto wanted = wanted_moment(*step.training, run)) {
        const std::int64_t shown = *moment_of(*step.training, run);
        return shown == *wanted ? "" : fmt::format("Step {} of the run was not kept: step {} is shown.", *wanted, shown);
    }
    if (!step.training->moment || !at_rest(run)) return "";
    return fmt::format("The run ended after {} steps: there is no step {} to show.", run.step, *step.training->moment);
}

bool differs(const LessonStep& step, const Document& now, const TrainingReport& training) {
    if (!step.training) {
        Document wanted = step.document;
        wanted.run = now.run;
        wanted.sampling = now.sampling;
        return wanted != now;
    }
    const RunStatus& run = *training.status;
    return !now.trained || now.trained->run != run.run || !same_model(run.settings, step.training->run) ||
           now.trained->step != moment_of(*step.training, run) || now.texts != texts_of(*step.training, run) ||
           now.forward != forward_of(*step.training, run) || now.run != step.training->run;
}

std::vector<Command> restore_document(const Document& before, const TrainingReport& training) {
    std::vector<Command> commands;
    const RunStatus& run = *training.status;
    if (before.trained && before.trained->run == run.run && run.run != 0) {
        commands.push_back({command::ShowMoment{before.trained->step}, kMerge});
        commands.push_back({command::SetTexts{before.texts, before.source_texts}, kMerge});
        commands.push_back({command::SetForward{before.forward}, kMerge});
    } else {
        commands.push_back({command::OpenDocument{before}, kMerge});
    }
    commands.push_back({command::SetRun{before.run}, kMerge});
    commands.push_back({command::SetSampling{before.sampling}, kMerge});
    return commands;
}

}  // namespace attn::app
