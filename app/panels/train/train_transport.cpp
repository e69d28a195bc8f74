#include "app/panels/train/train_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/panels/kit/train_words.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
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

std::vector<std::string> needs_new_run(const PanelContext& context) {
    const RunStatus& now = *context.training.status;
    if (now.run == 0 || pair_is_under_way(context)) return {};
    const RunSettings& set = context.document.run;
    const bool other_model = !same_model(set, now.settings),
               repaired = !set.train.forward.mistaken() && now.settings.train.forward.mistaken();
    if (!other_model && !repaired) return {};
    RunSettings wanted = now.settings;
    if (repaired) wanted.train.forward.mistake = Mistake::None;
    if (other_model) {
        wanted.task = set.task;
        wanted.seed = set.seed;
        wanted.model = set.model;
    }
    std::vector<std::string> changes = changed_settings(now.settings, wanted);
    if (changes.empty()) changes.emplace_back("the task or model");
    return changes;
}

TransportWords transport_words(const PanelContext& context) {
    constexpr std::string_view kNewRun = "Start a new run";
    const RunStatus& now = *context.training.status;
    if (!needs_new_run(context).empty())
        return {kNewRun, "Starts a run with the settings on the left; this one is kept in the list of runs"};
    switch (now.phase) {
    case TrainingPhase::Idle:
        return {"Start", "Starts a training run with these settings (Space)"};
    case TrainingPhase::Running:
        return {"Pause", "Pauses the run after this step; nothing is lost (Space)", true};
    case TrainingPhase::Paused: {
        if (now.followed) return {"Resume", "Another process trains this run: this goes on from what it has saved, apart from it (Space)"};
        const auto& runs = context.training.runs;
        const bool has_begun = !runs.empty() && runs.back().run == now.run && !runs.back().losses.empty();
        return has_begun ? TransportWords{"Resume", "Resumes the run (Space)"} : TransportWords{"Start", "Starts the run (Space)"};
    }
    case TrainingPhase::Finished:
        return {kNewRun, "Starts another run; this one is kept in the list of runs. Change a stop condition to resume it instead"};
    case TrainingPhase::Failed:
        return {kNewRun, "Starts another run with the settings as they are now; this one is kept in the list of runs"};
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
    if (has_ended(context))
        context.commands.push_back({command::TellFile{"This run has ended and is kept. “Start a new run” starts another one.", false}, ""});
    else if (context.training.status->phase == TrainingPhase::Running) context.commands.push_back({command::PauseTraining{}, ""});
    else context.commands.push_back({command::StartTraining{}, ""});
}

void toggle_training(PanelContext& context) {
    constexpr double kStillMeantForPause = 0.7;  // in seconds
    if (!has_ended(context) && needs_new_run(context).empty()) return toggle_training_by_key(context);
    if (has_ended(context) && context.now < context.view.train.ended_at + kStillMeantForPause) return;
    context.commands.push_back({command::RestartTraining{}, ""});
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

void show_lowest_loss(PanelContext& context) {
    TrainView& train = context.view.train;
    train.curves.update(context.training, train.smoothing);  // asked for from another view, they may be those of long ago
    const RunLines* run = train.curves.find(context.training.status->run);
    if (run == nullptr || !run->lowest) return;
    show_step(context, run->validation_loss.x()[*run->lowest]);
    ++context.view.gesture;
}

void branch_from_here(PanelContext& context) {
    if (context.training.status->run == 0) return;
    context.view.train.replaying = false;
    context.commands.push_back({command::BranchRun{rewound_step(context)}, ""});
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

float draw_run_chip(PanelContext& context, float right, float y, float room) {
    if (!is_current(context)) return 0;
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const RunStatus& now = *context.training.status;
    const bool running = now.phase == TrainingPhase::Running;
    const float high = context.px(28), side = context.px(12), sign = running ? context.px(18) : 0;
    std::string words = now.name.empty() ? fmt::format("run {}", now.run) : now.name;
    if (const auto step = shown_step(context)) words += " · step " + format_count(*step);
    words = elide(fonts.label, words, room - high - 2 * side - sign);
    const float width = text_width(fonts.label, words) + 2 * side + sign;
    if (words.empty() || width + high > room) return 0;
    const ImVec2 at{right - width - high, y};
    const Item chip =
        item_at(ui, "##run_chip", at, {width, high}, {.tooltip = "A step of this training run is shown. Click to see the run."});
    const Item close = item_at(ui, "##untrained", {right - high, y}, {high, high},
                               {.tooltip = "Back to freshly drawn parameters; the run stays in the Train view."});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, {right, y + high}, chip.hovered ? colors.raised : colors.pane, high / 2);
    list.AddRect(at, {right, y + high}, colors.line, high / 2, 0, context.px(1));
    draw_text_in(list, fonts.label, {at.x + side, y}, {right, y + high}, {0, 0.5F}, colors.chosen_text, words);
    if (running) draw_icon(list, Icon::Pause, {at.x + width - context.px(12), y + high / 2}, context.px(9), colors.chosen_text);
    draw_icon(list, Icon::Close, {right - high / 2 - context.px(3), y + high / 2}, context.px(8),
              close.hovered ? colors.text : colors.faint);
    for (const Item& item : {chip, close}) draw_focus_ring(ui, item, high / 2);
    if (chip.pressed) context.view.view = View::Train;
    if (close.pressed) context.commands.push_back({command::ShowUntrained{}, ""});
    return width + high;
}

}  // namespace attn::app
