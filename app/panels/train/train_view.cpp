#include "app/panels/train/train_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/panels/kit/pane.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kGap = 12;

struct TrainLayout {
    Box loss, accuracy, norm, rate, attention, predictions, history;
    bool side_tabs = false;  ///< attention and predictions share a place with tabs
};

TrainLayout lay_out(const PanelContext& context, const Box& area) {
    const float gap = context.px(kGap), scale = context.theme.scale;
    const PaneState& panes = context.view.panes;
    const float width = area.width() / scale, height = area.height() / scale;
    TrainLayout layout;
    float bottom = area.max.y;
    if (panes.strip && height > 360) {
        const float high = context.px(std::clamp(height * 0.33F, 208.F, 320.F));
        layout.history = {{area.min.x, bottom - high}, area.max};
        bottom = layout.history.min.y - gap;
    }
    float right = area.max.x;
    if (panes.right && width > 640) {
        const float wide = context.px(std::clamp(width * 0.40F, 340.F, std::max(640.F, width * 0.42F - 80.F)));
        const Box side{{right - wide, area.min.y}, {right, bottom}};
        right = side.min.x - gap;
        layout.side_tabs = side.height() / scale < 520;
        layout.attention = layout.predictions = side;
        if (!layout.side_tabs) {
            const float high = context.px(std::clamp(side.height() / scale * 0.38F, 232.F, 330.F));
            layout.predictions.min.y = side.max.y - high;
            layout.attention.max.y = layout.predictions.min.y - gap;
        }
    }
    layout.loss = {area.min, {right, bottom}};
    const float small = context.px(std::clamp(layout.loss.height() / scale * 0.27F, 104.F, 170.F));
    if (layout.loss.height() > context.px(300)) {
        layout.loss.max.y = bottom - small - gap;
        const float each = (right - area.min.x - 2 * gap) / 3;
        const auto place = [&](int i) {
            const float x = area.min.x + static_cast<float>(i) * (each + gap);
            return Box{{x, bottom - small}, {x + each, bottom}};
        };
        layout.accuracy = place(0);
        layout.norm = place(1);
        layout.rate = place(2);
    }
    return layout;
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

double plot_end(const PanelContext& context) { return std::max(run_end(context), context.view.train.curves.last_step()); }

Color run_color(const PanelContext& context, std::size_t index) {
    const Palette& colors = context.theme.colors;
    const auto& runs = context.view.train.curves.runs();
    if (index + 1 >= runs.size()) return colors.accent;
    // Depends on the run's number, so that colours do not change when another run is deleted.
    const std::array<Color, 4> earlier = {colors.axis_d, colors.axis_v, colors.axis_t, colors.axis_b};
    return earlier[runs[index].run % earlier.size()];
}

void draw_train_view(PanelContext& context) {
    TrainView& train = context.view.train;
    train.curves.update(context.training, train.smoothing);
    train.cursor.begin_frame();
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
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
