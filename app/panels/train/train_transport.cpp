#include "app/panels/train/train_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/panels/kit/train_words.hpp"
#include "app/session/document/weights_origin.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "engine/train/moment_steps.hpp"

namespace attn::app {
namespace {

/// Replays take at most this many seconds, at no more than this many moments per second.
constexpr double kReplaySeconds = 10, kReplayRate = 15;

bool is_current(const PanelContext& context) {
    const auto& trained = context.document.trained;
    return trained && trained->run == context.training.status->run && trained->run != 0;
}

/// Whether the run is over: it can be replaced by a new one or, if it has not failed, get other stop conditions.
bool has_ended(const PanelContext& context) {
    const TrainingPhase phase = context.training.status->phase;
    return phase == TrainingPhase::Failed || phase == TrainingPhase::Finished;
}

std::string moment_gesture(const PanelContext& context) { return fmt::format("moment#{}", context.view.gesture); }

void show_moment(PanelContext& context, std::optional<std::int64_t> step) {
    if (is_current(context) && context.document.trained->step == step) return;
    context.commands.push_back({command::ShowMoment{step}, moment_gesture(context)});
}

/// The index of the shown moment; that of the last one while the newest is followed.
std::size_t shown_moment(const PanelContext& context) {
    const auto& moments = context.training.status->moments;
    if (moments.empty() || follows_newest(context)) return moments.empty() ? 0 : moments.size() - 1;
    return nearest_moment(moments, shown_step(context).value_or(moments.back()));
}

void go_to_moment(PanelContext& context, std::size_t index) {
    const auto& moments = context.training.status->moments;
    if (index + 1 >= moments.size()) follow_newest(context);
    else show_moment(context, moments[index]);
}

}  // namespace

TransportWords transport_words(const PanelContext& context) {
    switch (context.training.status->phase) {
    case TrainingPhase::Idle:
        return {"Start", "Starts a training run with these settings (Space)"};
    case TrainingPhase::Running:
        return {"Pause", "Pauses the run after this step; nothing is lost (Space)", true};
    case TrainingPhase::Paused:
        return {"Resume", "Resumes the run (Space)"};
    case TrainingPhase::Finished:
        return {"New run", "Starts another run; this one is kept in the list of runs. Change a stop condition to resume it instead"};
    case TrainingPhase::Failed:
        return {"New run", "Starts another run with the settings as they are now; this one is kept in the list of runs"};
    }
    return {};
}

bool is_before_first_run(const PanelContext& context) {
    return context.training.status->run == 0 && context.training.status->kept.empty() &&
           std::all_of(context.training.runs.begin(), context.training.runs.end(), [](const RunCurves& run) { return run.losses.empty(); });
}

bool pair_is_under_way(const PanelContext& context) {
    const RunStatus& now = *context.training.status;
    return now.paired && (now.phase == TrainingPhase::Running || now.phase == TrainingPhase::Paused);
}

void toggle_training_by_key(PanelContext& context) {
    if (!has_ended(context)) return toggle_training(context);
    context.commands.push_back({command::TellFile{"This run has ended and is kept. “New run” starts another one.", false}, ""});
}

void toggle_training(PanelContext& context) {
    constexpr double kStillMeantForPause = 0.7;  // in seconds
    if (has_ended(context) && context.now < context.view.train.ended_at + kStillMeantForPause) return;
    switch (context.training.status->phase) {
    case TrainingPhase::Running:
        context.commands.push_back({command::PauseTraining{}, ""});
        break;
    case TrainingPhase::Failed:
    case TrainingPhase::Finished:
        context.commands.push_back({command::RestartTraining{}, ""});
        break;
    default:
        context.commands.push_back({command::StartTraining{}, ""});
    }
}

bool follows_newest(const PanelContext& context) { return is_current(context) && !context.document.trained->step; }

std::optional<std::int64_t> shown_step(const PanelContext& context) {
    if (!is_current(context)) return std::nullopt;
    if (context.document.trained->step) return context.document.trained->step;
    if (context.snapshot.run != context.document.trained->run) return std::nullopt;
    return context.snapshot.trained_step;
}

std::optional<std::int64_t> rewound_step(const PanelContext& context) {
    return follows_newest(context) ? std::nullopt : shown_step(context);
}

const HeldOutAnswers* shown_answers(const PanelContext& context) {
    const auto& answers = context.training.status->answers;
    if (answers.empty()) return nullptr;
    std::vector<std::int64_t> steps;
    for (const auto& one : answers) steps.push_back(one->step);
    return answers[nearest_moment(steps, rewound_step(context).value_or(steps.back()))].get();
}

void show_step(PanelContext& context, double step) {
    const auto& moments = context.training.status->moments;
    if (moments.empty()) return;
    context.view.train.replaying = false;
    go_to_moment(context, nearest_moment(moments, std::llround(step)));
}

void follow_newest(PanelContext& context) {
    if (context.training.status->run == 0) return;
    show_moment(context, std::nullopt);
}

void step_moment(PanelContext& context, int direction) {
    const auto& moments = context.training.status->moments;
    if (moments.empty()) return;
    context.view.train.replaying = false;
    const std::size_t shown = shown_moment(context);
    if (direction < 0) go_to_moment(context, shown == 0 ? 0 : shown - 1);
    else go_to_moment(context, shown + 1);
}

void show_first_moment(PanelContext& context) {
    if (context.training.status->moments.empty()) return;
    context.view.train.replaying = false;
    go_to_moment(context, 0);
}

void toggle_replay(PanelContext& context) {
    TrainView& train = context.view.train;
    if (context.training.status->moments.size() < 2) return;
    train.replaying = !train.replaying;
    ++context.view.gesture;
    if (!train.replaying) return;
    train.next_moment_at = context.now + 1 / kReplayRate;
    if (follows_newest(context) || !shown_step(context)) go_to_moment(context, 0);
}

void keep_up_with_training(PanelContext& context) {
    TrainView& train = context.view.train;
    const RunStatus& now = *context.training.status;
    if (now.phase == TrainingPhase::Running) train.ended_at = context.now;
    if (!train.replaying || context.now < train.next_moment_at) return;
    const std::size_t count = context.training.status->moments.size();
    const std::size_t stride =
        std::max<std::size_t>(static_cast<std::size_t>(static_cast<double>(count) / (kReplaySeconds * kReplayRate)), 1);
    const std::size_t next = shown_moment(context) + stride;
    train.next_moment_at = context.now + 1 / kReplayRate;
    if (next + 1 >= count) train.replaying = false;
    go_to_moment(context, next);
    if (!train.replaying) ++context.view.gesture;
}

void pin_b(PanelContext& context) {
    if (context.ready()) context.commands.push_back({command::Pin{true, context.states.shown}, ""});
}

float draw_small_transport(PanelContext& context, float right, float y, float room) {
    if (context.training.status->run == 0 || context.document.model != nullptr) return 0;
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const TransportWords words = transport_words(context);
    const std::optional<std::int64_t> step = shown_step(context);
    // A model that was trained says so in its badge.
    const WeightsOrigin origin = weights_origin(context.document);
    std::string text = origin.learned || origin.missing ? "" : "not trained";
    if (step) text = fmt::format("trained: {}, step {}", task_title(context.training.status->settings.task), format_count(*step));
    const float buttons = context.px(2 * 34), back = step ? context.px(34) : 0;
    float width = buttons + back + context.px(10) + text_width(fonts.label, text);
    if (width > room) text.clear();
    width = buttons + back + (text.empty() ? 0 : context.px(10) + text_width(fonts.label, text));
    if (width > room) return 0;
    float x = right - width;
    const auto put = [&](const char* label, Icon icon, std::string_view tooltip) {
        ImGui::SetCursorScreenPos({x, y});
        x += context.px(34);
        return button(ui, label, {.width = 30, .icon = icon, .notes = {.tooltip = tooltip}});
    };
    if (put("##train_toggle", words.runs ? Icon::Pause : Icon::Play, words.tooltip)) toggle_training(context);
    if (put("##train_step", Icon::Plus, "One training step")) context.commands.push_back({command::StepTraining{}, ""});
    if (!text.empty()) {
        draw_text_in(*ImGui::GetWindowDrawList(), fonts.label, {x + context.px(4), y}, {right, y + context.px(30)}, {0, 0.5F},
                     step ? colors.chosen_text : colors.faint, text);
        x += text_width(fonts.label, text) + context.px(10);
    }
    if (step && put("##untrained", Icon::Close, "Back to freshly drawn parameters; the run stays in the Train view"))
        context.commands.push_back({command::ShowUntrained{}, ""});
    return width;
}

}  // namespace attn::app
