#include "app/widgets/line_plot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/plot_axis.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kBottomRoom = 22, kTitleRoom = 16, kLeftRoom = 44, kLegendRoom = 20, kTickPitchX = 96, kTickPitchY = 42;
constexpr float kPlotZoom = 1.25f, kSlop = 4, kDashUnit = 2.5f;

PlotAxis whole_x(std::span<const PlotSeries> series, bool log, const PlotOptions& options) {
    double lo = std::numeric_limits<double>::infinity(), hi = -lo;
    for (const PlotSeries& one : series) {
        const auto x = one.curve->x();
        // Step 0 cannot be shown on a logarithmic axis, so it starts at the first positive step.
        const auto first = log ? std::upper_bound(x.begin(), x.end(), 0.0) : x.begin();
        if (first == x.end()) continue;
        lo = std::min(lo, *first);
        hi = std::max(hi, x.back());
    }
    if (options.x_end) {
        lo = std::min(lo, log ? 1.0 : 0.0);
        hi = std::max(hi, *options.x_end);
    }
    return fit_axis(lo, hi, log, 0);
}

PlotAxis x_axis(std::span<const PlotSeries> series, const PlotView& view, const PlotOptions& options) {
    if (view.whole || !(view.x_hi > view.x_lo) || (view.log_x && !(view.x_lo > 0))) return whole_x(series, view.log_x, options);
    return {view.x_lo, view.x_hi, view.log_x};
}

PlotAxis y_axis(std::span<const PlotSeries> series, const PlotAxis& x, const PlotOptions& options) {
    if (options.y_range) return {options.y_range->first, options.y_range->second, options.log_y};
    double lo = std::numeric_limits<double>::infinity(), hi = -lo;
    for (const PlotSeries& one : series) {
        const Pyramid& y = one.raw ? one.curve->raw() : one.curve->smoothed();
        const Extent extent = extent_of(y, points_within(one.curve->x(), x.lo, x.hi), options.ignore_outliers);
        if (extent.empty()) continue;
        lo = std::min(lo, extent.lo);
        hi = std::max(hi, extent.hi);
    }
    if (options.from_zero && !options.log_y && lo <= hi) {
        lo = std::min(lo, 0.0);
        hi = std::max(hi, 0.0);
    }
    PlotAxis axis = fit_axis(lo, hi, options.log_y, 0.05);
    // A range that starts at zero gets no margin below.
    if (options.from_zero && !options.log_y && lo == 0) axis.lo = 0;
    return axis;
}

/// Sets the visible range, limited to the whole axis. Rounding may put `whole.hi - width` slightly below `whole.lo`, hence the std::max.
void set_view(PlotView& view, const PlotAxis& whole, double lo, double hi, bool log) {
    if (log) {
        const double most = whole.hi / whole.lo, ratio = std::clamp(hi / lo, 1.001, most);
        lo = std::clamp(lo, whole.lo, std::max(whole.lo, whole.hi / ratio));
        hi = lo * ratio;
        view.whole = ratio >= most * (1 - 1e-9);
    } else {
        const double most = whole.hi - whole.lo, width = std::clamp(hi - lo, most * 1e-5, most);
        lo = std::clamp(lo, whole.lo, std::max(whole.lo, whole.hi - width));
        hi = lo + width;
        view.whole = width >= most * (1 - 1e-9);
    }
    view.x_lo = lo;
    view.x_hi = hi;
}

PlotResult handle_input(const Ui& ui, const char* id, const PlotArea& area, const PlotAxis& whole, PlotView& view, PlotCursor& cursor,
                        const PlotOptions& options) {
    PlotResult result;
    const PlotView before = view;
    const ImGuiIO& io = ImGui::GetIO();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos(area.min);
    const float width = std::max(1.0f, area.max.x - area.min.x);
    // Controls drawn into the plot must remain clickable.
    invisible_button_below(id, ImVec2(width, std::max(1.0f, area.max.y - area.min.y)));
    ImGui::SetCursorScreenPos(at);
    result.hovered = ImGui::IsItemHovered();
    const bool held = ImGui::IsItemActive(), dragging = held && ImGui::IsMouseDragging(0, ui.px(kSlop));
    const bool right_dragging = result.hovered && ImGui::IsMouseDragging(1, ui.px(kSlop));
    const double place = std::clamp((io.MousePos.x - area.min.x) / width, 0.0f, 1.0f), x = plot_value(area.x, place);
    if (result.hovered || held) cursor.next_x = x;
    if (result.hovered && options.zoom) {
        own_mouse_wheel();
        if (io.MouseWheel != 0) {
            const double factor = std::pow(kPlotZoom, -io.MouseWheel);
            set_view(view, whole, plot_value(area.x, place - place * factor), plot_value(area.x, place + (1 - place) * factor), area.x.log);
        }
        if (ImGui::IsMouseDoubleClicked(0)) view.whole = true;
    }
    if ((right_dragging || (dragging && !options.scrub)) && !view.whole) {
        const double moved = -io.MouseDelta.x / width;
        set_view(view, whole, plot_value(area.x, moved), plot_value(area.x, 1 + moved), area.x.log);
    }
    if (!held) tooltip_for_last(ui, options.tooltip);
    result.released = ImGui::IsItemDeactivated();
    const bool clicked = result.released && io.MouseDragMaxDistanceSqr[0] <= ui.px(kSlop) * ui.px(kSlop);
    if (clicked || (held && options.scrub)) result.clicked_x = x;
    result.view_changed = !(view == before);
    return result;
}

void draw_axes(const Ui& ui, ImDrawList& list, const PlotArea& area, const PlotOptions& options) {
    const Palette& c = ui.colors();
    ImFont* font = ui.fonts().mono_small;
    const float line = std::max(1.0f, ui.px(1)), half = font_size(font) / 2;
    for (const PlotTick& tick : plot_ticks(area.y, std::max(3, static_cast<int>((area.max.y - area.min.y) / ui.px(kTickPitchY))))) {
        const float y = std::round(area.at_y(tick.value));
        for (float x = area.min.x; x < area.max.x; x += ui.px(5)) {
            list.AddRectFilled(ImVec2(x, y), ImVec2(std::min(x + ui.px(1.5f), area.max.x), y + line), c.line);
        }
        draw_text_in(list, font, ImVec2(area.min.x, y - half), ImVec2(area.min.x - ui.px(8), y + half), ImVec2(1, 0.5f), c.muted,
                     tick.text);
    }
    for (const PlotTick& tick : plot_ticks(area.x, std::max(2, static_cast<int>((area.max.x - area.min.x) / ui.px(kTickPitchX))))) {
        const float x = area.at_x(tick.value), wide = text_width(font, tick.text);
        list.AddRectFilled(ImVec2(std::round(x), area.max.y), ImVec2(std::round(x) + line, area.max.y + ui.px(4)), c.line);
        const float left = std::clamp(x - wide / 2, area.min.x - ui.px(4), std::max(area.min.x, area.max.x - wide));
        draw_text(list, font, ImVec2(left, area.max.y + ui.px(6)), c.muted, tick.text);
    }
    list.AddRectFilled(ImVec2(area.min.x, area.max.y), ImVec2(area.max.x, area.max.y + line), c.line);
    if (!options.y_title.empty()) draw_text(list, ui.fonts().caption, ImVec2(area.min.x + ui.px(6), area.min.y), c.faint, options.y_title);
    if (!options.x_title.empty()) {
        const float y = area.max.y + ui.px(kBottomRoom);
        draw_text_in(list, ui.fonts().caption, ImVec2(area.min.x, y), ImVec2(area.max.x, y), ImVec2(1, 0), c.faint, options.x_title);
    }
}

/// Draws a line, interrupted at non-finite numbers.
void draw_line(ImDrawList& list, const PlotArea& area, const std::vector<EnvelopeColumn>& columns, Color color, float thickness, Dash dash,
               float unit) {
    list.PathClear();
    for (const EnvelopeColumn& column : columns) {
        const ImVec2 at(area.at_x(column.x), area.at_y(column.mean));
        if (!column.gap && std::isfinite(at.x) && std::isfinite(at.y)) {
            list.PathLineTo(at);
        } else {
            stroke_dashed(list, dash, color, thickness, unit);
        }
    }
    stroke_dashed(list, dash, color, thickness, unit);
}

void draw_spread(ImDrawList& list, const PlotArea& area, const std::vector<EnvelopeColumn>& columns, Color color) {
    for (const EnvelopeColumn& column : columns) {
        if (column.gap || column.min == column.max) continue;
        const float x = std::floor(area.at_x(column.x)), top = area.at_y(column.max), bottom = area.at_y(column.min);
        if (std::isfinite(x) && std::isfinite(top) && std::isfinite(bottom))
            list.AddRectFilled(ImVec2(x, top), ImVec2(x + 1, bottom), color);
    }
}

void draw_series(const Ui& ui, ImDrawList& list, const PlotArea& area, const PlotSeries& one) {
    const auto columns = static_cast<std::size_t>(std::max(1.0f, area.max.x - area.min.x));
    const std::span<const double> x = one.curve->x();
    PointRange range = points_within(x, area.x.lo, area.x.hi);
    // Step 0 cannot be shown on a logarithmic axis.
    while (area.x.log && range.first < range.last && !(x[range.first] > 0)) ++range.first;
    std::vector<EnvelopeColumn> gathered;
    const bool averaged = one.curve->smoothing() > 0;
    if (one.raw || !averaged) {
        envelope(x, one.curve->raw(), range, columns, area.x.log, gathered);
        const float opacity = one.opacity * (averaged ? 0.35f : 1);
        draw_spread(list, area, gathered, with_alpha(one.color, opacity * 0.8f));
        draw_line(list, area, gathered, with_alpha(one.color, opacity), ui.px(averaged ? 1 : one.thickness),
                  averaged ? Dash::Solid : one.dash, ui.px(kDashUnit));
    }
    if (!averaged) return;
    envelope(x, one.curve->smoothed(), range, columns, area.x.log, gathered);
    draw_line(list, area, gathered, with_alpha(one.color, one.opacity), ui.px(one.thickness), one.dash, ui.px(kDashUnit));
}

void vertical_line(const Ui& ui, ImDrawList& list, const PlotArea& area, double x, Color color, float thickness) {
    const float at = std::round(area.at_x(x));
    if (!std::isfinite(at) || at < area.min.x || at > area.max.x) return;
    list.AddRectFilled(ImVec2(at, area.min.y), ImVec2(at + std::max(1.0f, ui.px(thickness)), area.max.y), color);
}

/// Names with their latest values in a line above the plot, where no curve runs.
void draw_legend(const Ui& ui, ImDrawList& list, const PlotArea& area, std::span<const PlotSeries> series) {
    ImFont* font = ui.fonts().mono_small;
    float right = area.max.x - ui.px(6);
    for (auto one = series.rbegin(); one != series.rend(); ++one) {
        if (one->curve->empty() || one->name.empty()) continue;
        const std::string text = std::string(one->name) + " " + format_number(one->curve->smoothed().values().back());
        const float left = right - text_width(font, text);
        draw_text(list, font, ImVec2(left, area.min.y - ui.px(kLegendRoom)), with_alpha(one->color, std::max(one->opacity, 0.6f)), text);
        right = left - ui.px(16);
    }
}

}  // namespace

PlotResult line_plot(const Ui& ui, const char* id, ImVec2 min, ImVec2 max, std::span<const PlotSeries> series, PlotView& view,
                     PlotCursor& cursor, const PlotOptions& options) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    PlotArea area{min, max, {}, {}};
    if (options.axes) {
        area.min.x += ui.px(kLeftRoom);
        area.max.y -= ui.px(kBottomRoom + (options.x_title.empty() ? 0 : kTitleRoom));
    }
    if (options.legend) area.min.y += ui.px(kLegendRoom);
    area.max.x = std::max(area.max.x, area.min.x + 1);
    area.max.y = std::max(area.max.y, area.min.y + 1);
    area.x = x_axis(series, view, options);
    PlotResult result = handle_input(ui, id, area, whole_x(series, view.log_x, options), view, cursor, options);
    area.x = x_axis(series, view, options);
    area.y = y_axis(series, area.x, options);
    if (options.axes) {
        draw_axes(ui, list, area, options);
    } else {
        list.AddRectFilled(ImVec2(area.min.x, area.max.y), ImVec2(area.max.x, area.max.y + std::max(1.0f, ui.px(1))), ui.colors().line);
    }
    list.PushClipRect(ImVec2(area.min.x, area.min.y - ui.px(2)), ImVec2(area.max.x + ui.px(2), area.max.y + ui.px(2)), true);
    for (const PlotSeries& one : series)
        if (!one.curve->empty()) draw_series(ui, list, area, one);
    if (cursor.x) vertical_line(ui, list, area, *cursor.x, with_alpha(ui.colors().text, 0.5f), 1);
    if (options.marker) vertical_line(ui, list, area, *options.marker, ui.colors().chosen, 2);
    list.PopClipRect();
    if (options.legend) draw_legend(ui, list, area, series);
    result.area = area;
    return result;
}

}  // namespace attn::app
