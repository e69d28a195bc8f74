#include "app/panels/train/train_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/panels/kit/pane.hpp"
#include "app/panels/train/recorded_course.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/head_colors.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kGap = 12;
/// In a lower area the predictions share the place of the attention, and the small plots and the history close up.
constexpr float kLowArea = 772;
/// The height of the small plots without their titles and margins, and of the history with everything around its curves.
constexpr float kSmallPlot = 96, kAroundSmallPlot = 46, kHistory = 218, kLowHistory = 166;

struct TrainLayout {
    Box loss, accuracy, norm, rate, attention, predictions, history;
    bool side_tabs = false;  ///< attention and predictions share a place with tabs
};

/// Loss and attention are the two large things, side by side; below them stand the small plots and the predictions, then the history.
TrainLayout lay_out(const PanelContext& context, const Box& area) {
    const float gap = context.px(kGap), scale = context.theme.scale;
    const PaneState& panes = context.view.panes;
    const float height = area.height() / scale;
    const bool low = height < kLowArea, beside = panes.right && area.width() / scale > 640;
    TrainLayout layout;
    float bottom = area.max.y;
    if (panes.strip && height > 360) {
        layout.history = {{area.min.x, bottom - context.px(low ? kLowHistory : kHistory)}, area.max};
        bottom = layout.history.min.y - gap;
    }
    const float left_end = beside ? area.min.x + (area.width() - gap) / 2 : area.max.x;
    if (bottom - area.min.y > context.px(300)) {
        const float top = bottom - context.px(low ? kSmallPlot : kSmallPlot + kAroundSmallPlot);
        if (beside && !low) layout.predictions = {{left_end + gap, top}, {area.max.x, bottom}};
        const float end = low ? area.max.x : left_end, each = (end - area.min.x - 2 * gap) / 3;
        float x = area.min.x;
        for (Box* const plot : {&layout.accuracy, &layout.norm, &layout.rate}) {
            *plot = {{x, top}, {x + each, bottom}};
            x += each + gap;
        }
        bottom = top - gap;
    }
    layout.loss = {area.min, {left_end, bottom}};
    if (beside) layout.attention = {{left_end + gap, area.min.y}, {area.max.x, bottom}};
    layout.side_tabs = beside && layout.predictions.height() <= 0;
    return layout;
}

/// The chosen head if the user has chosen it since the run began, or a lesson has; else the one that forms.
void choose_large_head(PanelContext& context) {
    TrainView& train = context.view.train;
    const RunLines* run = train.curves.find(context.snapshot.run);
    const StageId& shown = context.view.stage;
    const HeadPlace chosen{{Stage::Weights, std::max(shown.layer, 0), shown.stack, shown.attention}, context.view.head};
    const std::optional<std::uint64_t> before = std::exchange(train.head_of, context.snapshot.run);
    if (before && *before != context.snapshot.run) train.own_head = false;
    else if (train.chosen_before && *train.chosen_before != chosen) train.own_head = true;
    train.chosen_before = chosen;
    train.large = chosen;
    if (train.own_head || context.view.lesson.open() || run == nullptr || !run->forming) return;
    const HeadCurves& forming = run->heads[*run->forming];
    train.large = HeadPlace{forming.id, forming.head};
}

/// Draws either attention or predictions, selected with two pills.
void draw_side(PanelContext& context) {
    static constexpr std::array<std::string_view, 2> kNames = {"attention", "predictions"};
    segmented(context.ui(), "##side", kNames, context.view.train.side, 0, {.tooltip = "What is shown here; a larger window shows both."});
    gap(context.ui(), 8);
    if (context.view.train.side == 0) draw_train_attention(context);
    else draw_train_predictions(context);
}

}  // namespace

double run_end(const PanelContext& context) {
    const RunStatus& now = *context.training.status;
    const auto newest = static_cast<double>(now.step);
    const auto limit = static_cast<double>(now.run == 0 ? context.document.run.stop.steps : now.settings.stop.steps);
    // A run from a file has not just begun: it shows its whole course.
    if (now.from_file && limit >= newest && limit > 0) return limit;
    double end = 50;
    while (end < newest) end *= 2;
    return limit > 0 && limit >= newest ? std::min(end, limit) : end;
}

double plot_end(const PanelContext& context) {
    double end = 0;
    for (const RunLines& run : context.view.train.curves.runs()) {
        if (!draws_run(context, run.run)) continue;
        end = std::max(end, run.run == context.training.status->run ? run_end(context) : run.last_step());
    }
    return end > 0 ? end : run_end(context);
}

LineLook run_look(const PanelContext& context, std::uint64_t run) {
    const Palette& colors = context.theme.colors;
    if (run == context.training.status->run) return {colors.accent};
    // Depends on the run's number, so that it does not change when another run is deleted.
    const std::array<Color, 4> earlier = {colors.axis_d, colors.axis_v, colors.axis_t, colors.axis_b};
    return {earlier[run % earlier.size()], dash_of(static_cast<std::int64_t>(run / earlier.size()))};
}

LineLook head_look(const PanelContext& context, const HeadPlace& place) {
    const std::int64_t layer = std::max(place.id.layer, 0), attention = place.id.stack == Stack::Main ? 0 : 1 + place.id.attention;
    return {head_color(context.theme.colors, place.head), dash_of(layer + attention)};
}

void draw_train_view(PanelContext& context) {
    TrainView& train = context.view.train;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    if (has_recorded_course(context)) return draw_recorded_course(context, {at, {at.x + room.x, at.y + room.y}});
    train.curves.update(context.training, train.smoothing);
    train.cursor.begin_frame();
    choose_large_head(context);
    const TrainLayout layout = lay_out(context, {at, {at.x + room.x, at.y + room.y}});
    constexpr ImGuiWindowFlags kFixed = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
    const ImVec2 large{22, 14}, small{14, 10};
    // No empty boxes: they appear with the first step.
    if (is_before_first_run(context))
        return pane(context, "##loss", {at, {at.x + room.x, at.y + room.y}}, PaneLook::Card, large, draw_train_loss, kFixed);
    pane(context, "##loss", layout.loss, PaneLook::Card, large, draw_train_loss, kFixed);
    pane(context, "##accuracy", layout.accuracy, PaneLook::Card, small, draw_train_accuracy, kFixed);
    pane(context, "##norm", layout.norm, PaneLook::Card, small, draw_train_gradient_norm, kFixed);
    pane(context, "##rate", layout.rate, PaneLook::Card, small, draw_train_learning_rate, kFixed);
    if (layout.side_tabs) {
        pane(context, "##side", layout.attention, PaneLook::Card, {18, 12}, draw_side, kFixed);
    } else {
        pane(context, "##attention", layout.attention, PaneLook::Card, large, draw_train_attention, kFixed);
        pane(context, "##predictions", layout.predictions, PaneLook::Card, {22, 12}, draw_train_predictions, kFixed);
    }
    pane(context, "##history", layout.history, PaneLook::Card, {22, 12}, draw_train_history, kFixed);
}

}  // namespace attn::app
