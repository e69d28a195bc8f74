#pragma once
/// Curves against a step or another number, with axes, a shared crosshair and a marker.

#include <imgui.h>

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "app/widgets/curve.hpp"
#include "app/widgets/plot_axis.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct PlotSeries {
    std::string_view name;
    const Curve* curve = nullptr;  ///< with its moving average: raw faint and smoothed bold; without one: one bold line
    Color color = 0;
    float opacity = 1;    ///< less for earlier runs
    float thickness = 2;  ///< logical pixels
    bool raw = true;      ///< the raw points too, where there is an average
};

/// What part of x is shown, and how; owned by the caller and shared by plots that zoom together.
struct PlotView {
    bool whole = true;  ///< all of x, also as it grows
    double x_lo = 0, x_hi = 1;
    bool log_x = false;
    bool operator==(const PlotView&) const = default;
};

/// Where the mouse points, in any of the plots that share it: set by the hovered plot, drawn by all.
struct PlotCursor {
    std::optional<double> x;       ///< as drawn now
    std::optional<double> next_x;  ///< gathered in this frame
    /// Call once a frame, before the first plot.
    void begin_frame() {
        x = next_x;
        next_x.reset();
    }
};

struct PlotOptions {
    std::string_view x_title{}, y_title{};  ///< with units: "step", "nats per token"
    bool log_y = false;
    bool ignore_outliers = false;                        ///< for the range of y
    bool from_zero = false;                              ///< the range of y holds 0
    std::optional<std::pair<double, double>> y_range{};  ///< fixed ends of y
    std::optional<double> x_end{};                       ///< the whole of x reaches at least from 0 to here
    std::optional<double> marker{};                      ///< the moment that is shown: a line in the chosen colour
    bool legend = true;                                  ///< names with the values at the cursor, or the newest ones
    bool axes = true;                                    ///< false for small plots: the curve and its base line only
    bool scrub = false;                                  ///< dragging moves through x; the right button pans
    bool zoom = true;                                    ///< by the wheel
    std::string_view tooltip{};
};

/// The inner area of a plot and its axes, to draw more into it.
struct PlotArea {
    ImVec2 min{0, 0}, max{0, 0};
    PlotAxis x, y;
    float at_x(double value) const { return min.x + static_cast<float>(plot_place(x, value)) * (max.x - min.x); }
    float at_y(double value) const { return max.y - static_cast<float>(plot_place(y, value)) * (max.y - min.y); }
};

struct PlotResult {
    bool hovered = false, view_changed = false;
    std::optional<double> clicked_x;  ///< pressed, or dragged where `scrub`
    bool released = false;            ///< the press or drag ended in this frame
    PlotArea area;
};

/// Draws into [min, max], axes included. Wheel zooms x about the cursor, dragging pans, double-click shows everything.
PlotResult line_plot(const Ui& ui, const char* id, ImVec2 min, ImVec2 max, std::span<const PlotSeries> series, PlotView& view,
                     PlotCursor& cursor, const PlotOptions& options = {});

}  // namespace attn::app
