#include "app/panels/train/recorded_course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "app/panels/kit/pane.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/head_colors.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kBetween = 12, kCourseHeading = 58, kCurveTitle = 24, kTicks = 8, kLeastCurve = 110;

/// Takes what was logged since the last frame over into curves.
void keep_up(RecordedCourse& course, const std::shared_ptr<const recording::Logged>& logged) {
    if (course.of == logged) return;
    // Of one run, numbers are only added.
    if (course.of == nullptr || course.of->folder != logged->folder || course.of->run != logged->run) course = {};
    for (std::size_t i = 0; i < logged->curves.size(); ++i) {
        const recording::LoggedCurve& from = logged->curves[i];
        if (i == course.names.size()) {
            course.names.push_back(from.name);
            course.curves.emplace_back();
        }
        Curve& curve = course.curves[i];
        for (std::size_t point = curve.size(); point < from.steps.size(); ++point) curve.append(from.steps[point], from.values[point]);
    }
    course.of = logged;
}

/// The recorded step nearest to a place in a plot.
void show_step_near(PanelContext& context, double x) {
    const RecordedNumbers& shown = *context.document.recorded;
    const std::vector<std::int64_t>& steps = shown.recording->steps();
    auto after = std::lower_bound(steps.begin(), steps.end(), static_cast<std::int64_t>(std::llround(x)));
    if (after == steps.end() || (after != steps.begin() && x - static_cast<double>(*std::prev(after)) < static_cast<double>(*after) - x))
        --after;
    if (*after != shown.step) context.commands.push_back({command::ShowRecorded{*after, shown.group}, "recorded step"});
}

/// A tick for every recorded step, below a plot; the shown one is amber.
void draw_ticks(const PanelContext& context, const PlotArea& area) {
    const RecordedNumbers& shown = *context.document.recorded;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    float last = -1e9F;
    for (const std::int64_t step : shown.recording->steps()) {
        const float x = area.at_x(static_cast<double>(step));
        const bool current = step == shown.step;
        if (x < area.min.x - 1 || x > area.max.x + 1 || (!current && x - last < context.px(3))) continue;
        last = x;
        list.AddLine({x, area.max.y}, {x, area.max.y - context.px(current ? kTicks : kTicks / 2)},
                     current ? context.theme.colors.chosen : context.theme.colors.muted, context.px(current ? 2 : 1));
    }
}

void draw_curve(PanelContext& context, std::size_t i, const Box& box, double end) {
    const auto& [colors, fonts, scale] = context.theme;
    RecordedCourse& course = context.view.train.recorded;
    const Curve& curve = course.curves[i];
    const std::string name = visible_text(course.names[i]);
    const double at = course.cursor.x.value_or(static_cast<double>(context.document.recorded->step));
    const std::size_t point = nearest_point(curve.x(), at);
    const std::string value = fmt::format("{} at step {}", format_number(static_cast<double>(curve.raw().values()[point])),
                                          format_count(std::llround(curve.x()[point])));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float width = text_width(fonts.mono_small, value);
    draw_text(list, fonts.strong, box.min, colors.text, elide(fonts.strong, name, box.width() - width - context.px(10)));
    draw_text_in(list, fonts.mono_small, box.min, {box.max.x, box.min.y + context.px(18)}, {1, 0.5F}, colors.muted, value);
    const PlotSeries series{.name = "", .curve = &curve, .color = head_color(colors, static_cast<std::int64_t>(i)), .thickness = 1.75F};
    const PlotOptions options{.x_end = end,
                              .marker = static_cast<double>(context.document.recorded->step),
                              .legend = false,
                              .scrub = true,
                              .tooltip = "As your code logged it. Ticks are recorded steps; a click goes to the nearest."};
    ImGui::PushID(static_cast<int>(i));
    const PlotResult result = line_plot(context.ui(), "##logged", {box.min.x, box.min.y + context.px(kCurveTitle)}, box.max, {&series, 1},
                                        course.plot, course.cursor, options);
    ImGui::PopID();
    draw_ticks(context, result.area);
    if (result.clicked_x) show_step_near(context, *result.clicked_x);
}

/// Of those that were logged or recorded.
double last_step(const PanelContext& context) {
    const RecordedCourse& course = context.view.train.recorded;
    double last = std::max(1.0, static_cast<double>(context.document.recorded->recording->steps().back()));
    for (const Curve& curve : course.curves)
        if (!curve.empty()) last = std::max(last, curve.x().back());
    return last;
}

/// All curves, in as many columns as make them largest.
void draw_curves(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const RecordedCourse& course = context.view.train.recorded;
    const RecordedNumbers& shown = *context.document.recorded;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    text_line(context.ui(), fonts.heading, colors.text, "What your code logs");
    const std::vector<std::int64_t>& steps = shown.recording->steps();
    text_line(context.ui(), fonts.label, colors.muted,
              elide(fonts.label,
                    fmt::format("{} · step {} is shown; of {} steps, {} recorded", visible_text(shown.recording->name()),
                                format_count(shown.step), format_count(std::llround(last_step(context)) + 1),
                                steps.size() == 1 ? "one is" : format_count(std::ssize(steps)) + " are"),
                    room.x));
    const float top = at.y + context.px(kCourseHeading + 8), gap = context.px(kBetween);
    const std::size_t count = course.curves.size(), columns = count == 1 ? 1 : count <= 4 ? 2 : 3, rows = (count + columns - 1) / columns;
    const float beside = 2 * gap, width = (room.x - beside * static_cast<float>(columns - 1)) / static_cast<float>(columns);
    const float height = std::max((at.y + room.y - context.px(6) - top - gap * static_cast<float>(rows - 1)) / static_cast<float>(rows),
                                  context.px(kLeastCurve));
    const double end = last_step(context);
    for (std::size_t i = 0; i < count; ++i) {
        const ImVec2 min{at.x + static_cast<float>(i % columns) * (width + beside), top + static_cast<float>(i / columns) * (height + gap)};
        draw_curve(context, i, {min, {min.x + width, min.y + height}}, end);
    }
    ImGui::SetCursorScreenPos({at.x, top + static_cast<float>(rows) * (height + gap) - gap - context.px(2)});
    ImGui::Dummy({1, 1});
}

/// The newest first.
void draw_texts(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    text_line(ui, fonts.title, colors.text, "Texts");
    gap(ui, 6);
    const Scrolled scrolled(ui, "##logged_texts", {0, 0}, {.padded = false});
    const std::vector<recording::LoggedTexts>& all = context.files.logged->texts;
    for (auto one = all.rbegin(); one != all.rend(); ++one) {
        text_line(ui, fonts.caption, colors.faint, fmt::format("step {}", format_count(one->step)));
        for (const std::string& text : one->texts) paragraph(ui, fonts.body, colors.text, visible_text(text, true));
        gap(ui, 8);
    }
}

}  // namespace

bool has_recorded_course(const PanelContext& context) {
    if (!context.document.recorded || context.files.logged == nullptr || context.files.logged->empty()) return false;
    const OpenedRecording& shown = *context.document.recorded->recording;
    return context.files.logged->folder == shown.path() && context.files.logged->run == shown.recording().run;
}

void draw_recorded_course(PanelContext& context, const Box& area) {
    RecordedCourse& course = context.view.train.recorded;
    keep_up(course, context.files.logged);
    course.cursor.begin_frame();
    const bool curves = !course.curves.empty(), texts = !context.files.logged->texts.empty();
    const float split = !texts ? area.max.x : !curves ? area.min.x : area.min.x + std::floor(area.width() * 0.66F);
    const float between = curves && texts ? context.px(kBetween) : 0;
    if (curves) pane(context, "##logged_curves", {area.min, {split - between, area.max.y}}, PaneLook::Card, {22, 14}, draw_curves);
    if (texts) pane(context, "##logged_text_pane", {{split, area.min.y}, area.max}, PaneLook::Card, {22, 14}, draw_texts);
}

}  // namespace attn::app
