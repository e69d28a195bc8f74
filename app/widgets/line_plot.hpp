#pragma once
/// Line plots with axes, a shared crosshair and a marker.

#include <imgui.h>

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "app/widgets/curve.hpp"
#include "app/widgets/dashes.hpp"
#include "app/widgets/plot_axis.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct PlotSeries {
    std::string_view name;
    const Curve* curve = nullptr;  ///< if smoothed, the raw points are drawn faint and the average bold; otherwise a single bold line
    Color color = 0;
    float opacity = 1;        ///< lower for earlier runs
    float thickness = 2;      ///< in logical pixels
    Dash dash = Dash::Solid;  ///< of the bold line
    bool raw = true;          ///< draw the raw points too if there is an average
};

/// The visible range of x; owned by the caller and shared by plots that zoom together.
struct PlotView {
    bool whole = true;  ///< all of x, even as it grows
    double x_lo = 0, x_hi = 1;
    bool log_x = false;
    bool operator==(const PlotView&) const = default;
};

/// The crosshair shared by several plots: set by the hovered one, drawn by all.
struct PlotCursor {
    std::optional<double> x;       ///< drawn in this frame
    std::optional<double> next_x;  ///< collected for the next frame
    /// To be called once per frame before the first plot.
    void begin_frame() {
        x = next_x;
        next_x.reset();
    }
};

struct PlotOptions {
    std::string_view x_title{}, y_title{};  ///< with units, such as "step" or "nats per token"
    bool log_y = false;
    bool ignore_outliers = false;                        ///< when choosing the range of y
    bool from_zero = false;                              ///< include 0 in the range of y
    std::optional<std::pair<double, double>> y_range{};  ///< fixed range of y
    std::optional<double> x_end{};                       ///< the full range of x extends at least from 0 to here
    std::optional<double> marker{};                      ///< the shown moment: a line in the selection colour
    bool legend = true;                                  ///< names with the latest values, above the plot
    bool axes = true;                                    ///< false for small plots: only the curve and its base line
    bool scrub = false;                                  ///< dragging moves through x; the right button pans
    bool zoom = true;                                    ///< with the wheel
    std::string_view tooltip{};
};

/// The inner area of a plot and its axes, for drawing more into it.
struct PlotArea {
    ImVec2 min{0, 0}, max{0, 0};
    PlotAxis x, y;
    float at_x(double value) const { return min.x + static_cast<float>(plot_place(x, value)) * (max.x - min.x); }
    float at_y(double value) const { return max.y - static_cast<float>(plot_place(y, value)) * (max.y - min.y); }
};

struct PlotResult {
    bool hovered = false, view_changed = false;
    std::optional<double> clicked_x;  ///< clicked, or dragged to if `scrub`
    bool released = false;            ///< the click or drag ended in this frame
    PlotArea area;
};

/// Draws into [min, max], including axes. The wheel zooms x about the cursor, dragging pans, double-click shows everything.
PlotResult line_plot(const Ui& ui, const char* id, ImVec2 min, ImVec2 max, std::span<const PlotSeries> series, PlotView& view,
                     PlotCursor& cursor, const PlotOptions& options = {});

}  // namespace attn::app
