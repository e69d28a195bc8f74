#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/panels/kit/notice_place.hpp"
#include "app/panels/kit/train_words.hpp"
#include "app/panels/train/plot_legend.hpp"
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

/// The step whose values stand in the legend: that of the cursor or the shown moment; none: the latest.
std::optional<double> step_of_values(const PanelContext& context) {
    if (context.view.train.cursor.x) return context.view.train.cursor.x;
    const auto rewound = rewound_step(context);
    return rewound ? std::optional(static_cast<double>(*rewound)) : std::nullopt;
}

/// What the values in the legend are.
std::string words_of_values(const PanelContext& context) {
    std::string words;
    if (const auto step = step_of_values(context)) words = fmt::format("step {} · ", format_count(std::llround(*step)));
    words += "nats per token";
    if (context.view.train.smoothing > 0) words += ", smoothed";
    return words;
}

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
              elide_parts(fonts.label, words_of_values(context), left - context.px(12) - x));
}

/// How many characters a value has at most: of a loss, and of one that says its step.
constexpr int kLossDigits = 7, kStepDigits = 17;
constexpr int kMostLines = 2;

/// An entry of the legend, and the run that a click on it makes current.
struct LossEntry {
    LegendEntry shown;
    int digits = kLossDigits;
    std::uint64_t run = 0;
};

/// The current run's curves, then earlier runs, the newest first. Hidden ones are left out.
std::vector<LossEntry> legend_of_loss(const PanelContext& context) {
    const auto& runs = context.view.train.curves.runs();
    const std::vector<std::string>& names = names_of_runs(context);
    const std::optional<double> step = step_of_values(context);
    const double at = step.value_or(1e18);
    std::vector<LossEntry> entries;
    for (std::size_t i = runs.size(); i-- > 0;) {
        const RunLines& run = runs[i];
        if (!draws_run(context, run.run)) continue;
        const LineLook look = run_look(context, run.run);
        if (run.run == context.training.status->run) {
            const std::string of = runs.size() > 1 ? names[i] + ": " : "";
            // Evaluations are less frequent than steps.
            const std::string place = step ? other_step(run.validation_loss.x(), at) : "";
            if (!run.loss.empty())
                entries.push_back(LossEntry{{look.color, look.dash, of + "train", format_number(value_at(run.loss, at))}});
            if (!run.validation_loss.empty())
                entries.push_back(LossEntry{
                    {validation_color(context), Dash::Solid, "held out", format_number(value_at(run.validation_loss, at)) + place},
                    step ? kStepDigits : kLossDigits});
            continue;
        }
        const Curve& curve = run.validation_loss.size() > 1 ? run.validation_loss : run.loss;
        const std::string value = format_number(value_at(curve, at));
        entries.push_back(
            LossEntry{{look.color, look.dash, names[i], value, "Back to this run, as you left it.", run.run}, kLossDigits, run.run});
    }
    return entries;
}

/// Draws the legend between the header and the plot, in at most two lines; what does not fit stands in the list of runs. Returns its
/// height.
float draw_loss_legend(PanelContext& context, ImVec2 at, float width) {
    const float line = context.px(kLegendLine), between = context.px(18);
    float x = at.x, y = at.y;
    for (const LossEntry& entry : legend_of_loss(context)) {
        const float wide = std::min(legend_width(context, entry.shown, entry.digits), width);
        if (x > at.x && x + wide > at.x + width) {
            if (y + line >= at.y + kMostLines * line) break;
            x = at.x;
            y += line;
        }
        if (draw_legend_entry(context, entry.shown, {x, y}, wide).pressed) context.commands.push_back({command::ChooseRun{entry.run}, ""});
        x += wide + between;
    }
    return y + line - at.y;
}

/// Rings the lowest held-out loss of the current run; a click goes to that step.
void draw_lowest(PanelContext& context, const PlotArea& area) {
    const RunLines* run = context.view.train.curves.find(context.training.status->run);
    if (run == nullptr || !run->lowest || run->validation_loss.size() < 2 || !draws_run(context, run->run)) return;
    const double step = run->validation_loss.x()[*run->lowest];
    const auto loss = static_cast<double>(run->validation_loss.raw().values()[*run->lowest]);
    const ImVec2 at{area.at_x(step), area.at_y(loss)};
    if (!(at.x >= area.min.x && at.x <= area.max.x && at.y >= area.min.y && at.y <= area.max.y)) return;
    const float reach = context.px(9);
    const std::string tooltip =
        fmt::format("Lowest held-out loss: {} at step {}. Click to go there.", format_number(loss), format_count(std::llround(step)));
    const Item item = item_at(context.ui(), "##lowest", {at.x - reach, at.y - reach}, {2 * reach, 2 * reach}, {.tooltip = tooltip});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddCircleFilled(at, context.px(5), context.theme.colors.pane, 20);
    list.AddCircle(at, context.px(5), item.hovered ? context.theme.colors.text : validation_color(context), 20, context.px(2));
    draw_focus_ring(context.ui(), item, reach);
    if (item.pressed) show_lowest_loss(context);
}

/// Before the first run: explains what will be shown here, with a button to start.
void draw_invitation(PanelContext& context, const Box& box) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float middle = (box.min.x + box.max.x) / 2, width = context.px(220);
    float y = box.min.y + std::max(0.F, (box.height() - context.px(box.height() > context.px(320) ? 260 : 190)) / 2);
    const auto centred = [&](ImFont* font, Color color, std::string_view text) {
        const std::vector<std::string> lines = lines_of(font, text, box.width() - context.px(20));
        if (y + static_cast<float>(lines.size()) * (font_size(font) + context.px(2)) > box.max.y) return;  // hints need a taller window
        for (const std::string& line : lines) {
            draw_text_in(list, font, {box.min.x, y}, {box.max.x, y + font_size(font)}, {0.5F, 0.5F}, color, line);
            y += font_size(font) + context.px(2);
        }
        y += context.px(8);
    };
    centred(fonts.title, colors.text, subject_of_run(context.document.run) + " " + promise(context.document.run));
    centred(fonts.label, colors.muted, "within seconds, while you watch its loss fall and its heads form.");
    y += context.px(8);
    constexpr float kExample = 70;  // its place is free until it is there
    if (box.height() > context.px(320)) {
        draw_task_example(context, {{box.min.x, y}, {box.max.x, y + context.px(kExample)}});
        y += context.px(kExample);
    }
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
    for (const RunLines& run : runs) {
        const bool current = run.run == context.training.status->run;
        const Curve& curve = run.*(plot.curve);
        const LineLook look = run_look(context, run.run);
        // The value at the shown moment, as everywhere in the view.
        if (current && !curve.empty()) value = plot.format(value_at(curve, step_of_values(context).value_or(1e18)));
        if (!draws_run(context, run.run)) continue;
        series.push_back({.name = "",
                          .curve = &curve,
                          .color = current ? plot.color : look.color,
                          .opacity = current ? 1.F : 0.55F,
                          .thickness = current ? 1.75F : 1.25F,
                          .dash = look.dash,
                          .raw = current});
    }
    const float value_width = text_width(fonts.mono_small, value);
    draw_text(list, fonts.strong, at, colors.text, elide(fonts.strong, plot.title, room.x - value_width - context.px(10)));
    const float note_x = at.x + text_width(fonts.strong, plot.title) + context.px(7),
                note_room = at.x + room.x - value_width - context.px(8) - note_x;
    if (text_width(fonts.caption, plot.note) <= note_room)
        draw_text(list, fonts.caption, {note_x, at.y + context.px(3)}, colors.faint, plot.note);
    draw_text_in(list, fonts.mono_small, at, {at.x + room.x, at.y + context.px(18)}, {1, 0.5F}, colors.muted, value);
    const ImVec2 min{at.x, at.y + context.px(20 + kMarkRoom)}, max{at.x + room.x, at.y + room.y};
    if (runs.empty()) {
        draw_text_wrapped(list, fonts.label, min, room.x, colors.faint, plot.empty);
        return;
    }
    // Small plots have a narrow margin with just two labels.
    PlotOptions options{.y_range = plot.y_range, .x_end = plot_end(context), .marker = marker(context), .legend = false, .scrub = true};
    options.from_zero = true;
    options.tooltip = plot.tooltip;
    options.ignore_outliers = plot.ignore_outliers;
    const PlotResult result = line_plot(context.ui(), plot.id, min, max, series, train.plot, train.cursor, options);
    take_over(context, result);
    draw_plot_marks(context, result.area);
}

}  // namespace

void draw_train_loss(PanelContext& context) {
    TrainView& train = context.view.train;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    if (is_before_first_run(context)) return draw_invitation(context, {at, {at.x + room.x, at.y + room.y}});
    draw_loss_header(context);
    const ImVec2 below{at.x, at.y + context.px(kLossHeader - 6)};
    const float top = below.y + draw_loss_legend(context, below, room.x) + context.px(kMarkRoom + 4);
    std::vector<PlotSeries> series;
    for (const RunLines& run : train.curves.runs()) {
        if (!draws_run(context, run.run)) continue;
        const LineLook look = run_look(context, run.run);
        if (run.run == context.training.status->run) {
            series.push_back({.name = "train", .curve = &run.loss, .color = look.color, .thickness = 2});
            series.push_back({.name = "held out", .curve = &run.validation_loss, .color = validation_color(context), .thickness = 2});
        } else {
            const Curve& curve = run.validation_loss.size() > 1 ? run.validation_loss : run.loss;
            series.push_back(
                {.name = "", .curve = &curve, .color = look.color, .opacity = 0.8F, .thickness = 1.5F, .dash = look.dash, .raw = false});
        }
    }
    PlotOptions options{.x_title = "step", .log_y = train.log_loss, .x_end = plot_end(context), .marker = marker(context), .legend = false};
    options.from_zero = true;
    options.scrub = true;
    const PlotResult result =
        line_plot(context.ui(), "##plot", {at.x, top}, {at.x + room.x, at.y + room.y}, series, train.plot, train.cursor, options);
    take_over(context, result);
    draw_plot_marks(context, result.area);
    draw_lowest(context, result.area);
    // The loss has fallen there.
    const PlotArea& area = result.area;
    const float top_of_notices = area.min.y + context.px(12);
    leaves_to_notice(context, {{area.min.x + (area.max.x - area.min.x) * 0.35F, top_of_notices}, {area.max.x, top_of_notices}});
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
