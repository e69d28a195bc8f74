#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/panels/kit/train_words.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/widgets/box.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/slider.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kLossHeader = 42;

Color validation_color(const PanelContext& context) { return context.theme.colors.axis_s; }

std::optional<double> marker(const PanelContext& context) {
    const auto step = shown_step(context);
    return step ? std::optional<double>(static_cast<double>(*step)) : std::nullopt;
}

/// Applies a click or drag in a plot: shows the model at that step.
void take_over(PanelContext& context, const PlotResult& result) {
    if (result.clicked_x) show_step(context, *result.clicked_x);
    if (result.released) ++context.view.gesture;
}

/// The curve's value at the point nearest to `step`; NaN if it is empty.
double value_at(const Curve& curve, double step) {
    if (curve.empty()) return std::nan("");
    return static_cast<double>(curve.smoothed().values()[nearest_point(curve.x(), step)]);
}

std::string percent(double share) { return format_number(share * 100, {.decimals = 1}) + " %"; }

void draw_loss_header(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    TrainView& train = context.view.train;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float right = at.x + ImGui::GetContentRegionAvail().x;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.heading, at, colors.text, "loss");
    const float x = at.x + text_width(fonts.heading, "loss") + context.px(12);
    float left = right;
    // In a narrow pane the least important controls are left out first, so that nothing covers the title.
    if (right - context.px(132 + 10 + 2 * 78) > x) {
        left -= context.px(132);
        ImGui::SetCursorScreenPos({left, at.y - context.px(5)});
        ImGui::PushStyleColor(ImGuiCol_ChildBg, IM_COL32(0, 0, 0, 0));
        ImGui::BeginChild("##smoothing", {context.px(132), context.px(40)}, false, ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoNav);
        slider_row(ui, "smoothing", train.smoothing,
                   {.min = 0, .max = 0.99, .step = 0.01, .notes = {.tooltip = "Smoothing of the bold curve."}});
        ImGui::EndChild();
        ImGui::PopStyleColor();
        left -= context.px(10);
    }
    const auto flip = [&](const char* label, bool& on, std::string_view tooltip) {
        if (left - context.px(78) < x) return;
        left -= context.px(78);
        ImGui::SetCursorScreenPos({left, at.y + context.px(1)});
        if (button(ui, label, {.width = 72, .height = 26, .active = on, .notes = {.tooltip = tooltip}})) on = !on;
    };
    flip("log step", train.plot.log_x, "Logarithmic axis of steps, in all plots");
    flip("log loss", train.log_loss, "Logarithmic axis of the loss");
    if (!train.plot.whole && left - context.px(86) >= x) {
        left -= context.px(86);
        ImGui::SetCursorScreenPos({left, at.y + context.px(1)});
        if (button(ui, "whole run", {.width = 80, .height = 26, .notes = {.tooltip = "Shows all steps again (double-click)"}}))
            train.plot.whole = true;
    }
    draw_text(list, fonts.label, {x, at.y + context.px(9)}, colors.muted,
              elide_parts(fonts.label, "cross-entropy · nats per token", left - context.px(12) - x));
}

/// Draws the legend with values at the cursor, at the shown moment, or the latest ones; at the top right, which falling curves leave free.
/// A click on an earlier run makes it current. Returns the legend's lower edge.
float draw_runs(PanelContext& context, const PlotArea& area) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const auto& runs = context.view.train.curves.runs();
    const std::vector<std::string> names = run_names(context.training.runs);
    // Show the step at the cursor or of the shown moment; the latest step is not mentioned.
    std::optional<double> cursor = context.view.train.cursor.x;
    if (const auto rewound = rewound_step(context); !cursor && rewound) cursor = static_cast<double>(*rewound);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float line = context.px(17);
    float y = area.min.y + context.px(2);
    const auto write = [&](Color color, const std::string& text, float right) {
        const float left = right - text_width(fonts.mono_small, text);
        list.AddRectFilled({left - context.px(4), y - context.px(1)}, {right + context.px(2), y + line - context.px(2)},
                           with_alpha(colors.pane, 0.8F));
        draw_text(list, fonts.mono_small, {left, y}, color, text);
        y += line;
    };
    const float right = area.max.x - context.px(6);
    const bool smoothed = context.view.train.smoothing > 0;
    if (cursor) write(colors.muted, fmt::format("step {}{}", format_count(std::llround(*cursor)), smoothed ? ", smoothed" : ""), right);
    else if (smoothed) write(colors.muted, "smoothed", right);
    for (std::size_t i = runs.size(); i-- > 0 && y + 2 * line < area.max.y;) {
        const RunLines& run = runs[i];
        const double at = cursor.value_or(1e18);
        if (i + 1 == runs.size()) {
            const auto write_value = [&](Color color, const char* name, const Curve& curve) {
                if (curve.empty()) return;
                const std::string place = cursor ? other_step(curve.x(), at) : "";
                write(color, fmt::format("{} {}{}", name, format_number(value_at(curve, at)), place), right);
            };
            if (runs.size() > 1) write(colors.text, names[i], right);
            write_value(colors.accent, "train", run.loss);
            write_value(validation_color(context), "held out", run.validation_loss);
            continue;
        }
        const Curve& curve = run.validation_loss.empty() ? run.loss : run.validation_loss;
        const std::string text = fmt::format("{}  {}", names[i], format_number(value_at(curve, at)));
        const float wide = text_width(fonts.mono_small, text);
        ImGui::PushID(static_cast<int>(run.run));
        const Item item =
            item_at(ui, "##choose", {right - wide, y - context.px(1)}, {wide, line}, {.tooltip = "Back to this run, as you left it."});
        ImGui::PopID();
        if (item.pressed) context.commands.push_back({command::ChooseRun{run.run}, ""});
        write(item.hovered ? colors.text : run_color(context, i), text, right);
    }
    return y;
}

/// Shows step, loss and accuracy of the shown moment beside the marker, below the legend.
void draw_shown(const PanelContext& context, const PlotArea& area, float below) {
    const auto step = shown_step(context);
    const RunLines* run = context.view.train.curves.find(context.training.status->run);
    if (!step || run == nullptr || follows_newest(context)) return;
    const auto& [colors, fonts, scale] = context.theme;
    const auto at = static_cast<double>(*step);
    const float x = area.at_x(at);
    if (!(x >= area.min.x && x <= area.max.x)) return;
    const std::string title = fmt::format("step {} (shown)", format_count(*step));
    // Show measured values, not averages. Evaluations are less frequent than steps.
    const auto measured = [at](const Curve& curve) {
        return curve.empty() ? std::nan("") : static_cast<double>(curve.raw().values()[nearest_point(curve.x(), at)]);
    };
    // The loss of the untrained model is that of the first step.
    const std::string place = *step == 0 ? "" : other_step(run->loss.x(), at);
    const std::string losses =
        fmt::format("train {}{}  held out {}", format_number(measured(run->loss)), place, format_number(measured(run->validation_loss)));
    const std::string accuracy =
        fmt::format("accuracy {}{}", percent(measured(run->validation_accuracy)), other_step(run->validation_accuracy.x(), at));
    const float wide =
        std::max({text_width(fonts.label, title), text_width(fonts.mono_small, losses), text_width(fonts.mono_small, accuracy)}) +
        context.px(18);
    const float high = context.px(62);
    float left = x + context.px(8);
    if (left + wide > area.max.x) left = std::max(x - context.px(8) - wide, area.min.x + context.px(4));
    const float top = std::max(area.min.y + (area.max.y - area.min.y) * 0.18F, below + context.px(6));
    if (top + high > area.max.y) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled({left, top}, {left + wide, top + high}, colors.raised, context.px(6));
    list.AddRect({left, top}, {left + wide, top + high}, colors.line, context.px(6));
    draw_text(list, fonts.label, {left + context.px(9), top + context.px(6)}, colors.chosen_text, title);
    draw_text(list, fonts.mono_small, {left + context.px(9), top + context.px(25)}, colors.text, losses);
    draw_text(list, fonts.mono_small, {left + context.px(9), top + context.px(42)}, colors.text, accuracy);
}

/// Before the first run: explains what will be shown here, with a button to start.
void draw_invitation(PanelContext& context, const Box& box) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float middle = (box.min.x + box.max.x) / 2, width = context.px(220);
    float y = box.min.y + std::max(0.F, (box.height() - context.px(190)) / 2);
    const auto centred = [&](ImFont* font, Color color, std::string_view text) {
        const std::vector<std::string> lines = lines_of(font, text, box.width() - context.px(20));
        if (y + static_cast<float>(lines.size()) * (font_size(font) + context.px(2)) > box.max.y) return;  // hints need a taller window
        for (const std::string& line : lines) {
            draw_text_in(list, font, {box.min.x, y}, {box.max.x, y + font_size(font)}, {0.5F, 0.5F}, color, line);
            y += font_size(font) + context.px(2);
        }
        y += context.px(8);
    };
    centred(fonts.title, colors.text, "A small transformer " + promise(context.document.run));
    centred(fonts.label, colors.muted, "within seconds, while you watch its loss fall and its heads form.");
    y += context.px(8);
    ImGui::SetCursorScreenPos({middle - width / 2, y});
    if (button(ui, "Start##invitation",
               {.look = ButtonLook::Accent,
                .width = 220,
                .height = 44,
                .icon = Icon::Play,
                .notes = {.tooltip = "Starts a training run with the settings on the left (Space)"}}))
        toggle_training(context);
    y += context.px(60);
    centred(fonts.label, colors.faint, "The loss falls here, step by step.");
    centred(fonts.label, colors.faint, "Beside it the attention maps form, head by head.");
    centred(fonts.label, colors.faint, "Afterwards a slider brings back any step, with the model as it was then.");
}

struct SmallPlot {
    const char* id;
    const char* title;
    std::string_view note;
    const Curve RunLines::*curve;
    Color color;
    std::optional<std::pair<double, double>> y_range;
    std::string_view empty, tooltip;
    std::string (*format)(double);
    bool ignore_outliers = false;
};

void draw_small(PanelContext& context, const SmallPlot& plot) {
    const auto& [colors, fonts, scale] = context.theme;
    TrainView& train = context.view.train;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto& runs = train.curves.runs();
    std::string value;
    std::vector<PlotSeries> series;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const bool newest = i + 1 == runs.size();
        const Curve& curve = runs[i].*(plot.curve);
        series.push_back({.name = "",
                          .curve = &curve,
                          .color = newest ? plot.color : run_color(context, i),
                          .opacity = newest ? 1.F : 0.55F,
                          .thickness = newest ? 1.75F : 1.25F,
                          .raw = newest});
        const auto rewound = rewound_step(context);
        const double at_step = train.cursor.x.value_or(rewound ? static_cast<double>(*rewound) : 1e18);
        // The value at the shown moment, as everywhere in the view.
        if (newest && !curve.empty()) value = plot.format(value_at(curve, at_step));
    }
    const float value_width = text_width(fonts.mono_small, value);
    draw_text(list, fonts.strong, at, colors.text, elide(fonts.strong, plot.title, room.x - value_width - context.px(10)));
    const float note_x = at.x + text_width(fonts.strong, plot.title) + context.px(7),
                note_room = at.x + room.x - value_width - context.px(8) - note_x;
    if (text_width(fonts.caption, plot.note) <= note_room)
        draw_text(list, fonts.caption, {note_x, at.y + context.px(3)}, colors.faint, plot.note);
    draw_text_in(list, fonts.mono_small, at, {at.x + room.x, at.y + context.px(18)}, {1, 0.5F}, colors.muted, value);
    const ImVec2 min{at.x, at.y + context.px(26)}, max{at.x + room.x, at.y + room.y};
    if (runs.empty()) {
        draw_text_wrapped(list, fonts.label, min, room.x, colors.faint, plot.empty);
        return;
    }
    // Small plots have a narrow margin with just two labels.
    PlotOptions options{.y_range = plot.y_range, .x_end = plot_end(context), .marker = marker(context), .legend = false, .scrub = true};
    options.from_zero = true;
    options.tooltip = plot.tooltip;
    options.ignore_outliers = plot.ignore_outliers;
    take_over(context, line_plot(context.ui(), plot.id, min, max, series, train.plot, train.cursor, options));
}

}  // namespace

void draw_train_loss(PanelContext& context) {
    TrainView& train = context.view.train;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const Box box{{at.x, at.y + context.px(kLossHeader)}, {at.x + room.x, at.y + room.y}};
    const auto& runs = train.curves.runs();
    if (is_before_first_run(context)) return draw_invitation(context, {at, box.max});
    draw_loss_header(context);
    std::vector<PlotSeries> series;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const RunLines& run = runs[i];
        const bool newest = i + 1 == runs.size();
        const Color color = run_color(context, i);
        if (newest) {
            series.push_back({.name = "train", .curve = &run.loss, .color = color, .thickness = 2});
            series.push_back({.name = "held out", .curve = &run.validation_loss, .color = validation_color(context), .thickness = 2});
        } else {
            const Curve& curve = run.validation_loss.size() > 1 ? run.validation_loss : run.loss;
            series.push_back({.name = "", .curve = &curve, .color = color, .opacity = 0.8F, .thickness = 1.5F, .raw = false});
        }
    }
    PlotOptions options{.x_title = "step", .log_y = train.log_loss, .x_end = plot_end(context), .marker = marker(context), .legend = false};
    options.from_zero = true;
    options.scrub = true;
    const PlotResult result = line_plot(context.ui(), "##plot", box.min, box.max, series, train.plot, train.cursor, options);
    take_over(context, result);
    draw_shown(context, result.area, draw_runs(context, result.area));
}

void draw_train_accuracy(PanelContext& context) {
    draw_small(context, {"##plot", "accuracy", "held out", &RunLines::validation_accuracy, context.theme.colors.good, std::pair{0.0, 1.03},
                         "The share of held-out answers that are right.", task_info(context.document.run.task.kind).accuracy,
                         [](double v) { return percent(v); }});
}

void draw_train_gradient_norm(PanelContext& context) {
    draw_small(context, {"##plot", "gradient norm", "before clipping", &RunLines::gradient_norm, context.theme.colors.axis_h, std::nullopt,
                         "Length of each step's gradient, before clipping.", "Length of the whole gradient before it is clipped.",
                         [](double v) { return format_number(v, {.decimals = 2}); }, true});
}

void draw_train_learning_rate(PanelContext& context) {
    draw_small(context, {"##plot", "learning rate", "of each step", &RunLines::learning_rate, context.theme.colors.axis_c, std::nullopt,
                         "The rate of each step: warm-up, then the schedule.", "Rate of each step, warm-up and schedule included.",
                         [](double v) { return format_scientific(v, 1); }});
}

}  // namespace attn::app
