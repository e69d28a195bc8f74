#pragma once
/// Curves against a step or another number, with axes, a shared crosshair and a marker.

#include <imgui.h>

#include <optional>
#include <span>
#include <string_view>

#include "app/widgets/ui.hpp"

namespace attn::app {

struct PlotSeries {
    std::string_view name;
    std::span<const double> x;  ///< ascending
    std::span<const float> y;   ///< as many as x; gaps where not finite
    Color color = 0;
    bool smooth = true;  ///< raw faint and smoothed bold; otherwise one bold line
    float opacity = 1;   ///< less for earlier runs
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
    double smoothing = 0.6;          ///< weight of what came before, 0 to 0.999
    bool ignore_outliers = false;    ///< for the range of y
    bool from_zero = false;          ///< the range of y holds 0
    std::optional<double> marker{};  ///< the moment that is shown: a line in the chosen colour
    bool legend = true;              ///< names with the values at the cursor, or the newest ones
    bool axes = true;                ///< false for small plots: the curve and its base line only
    bool scrub = false;              ///< dragging moves through x instead of panning
};

struct PlotResult {
    bool hovered = false, view_changed = false;
    std::optional<double> clicked_x;  ///< pressed, or dragged where `scrub`
};

/// Draws into [min, max], axes included. Wheel zooms x about the cursor, dragging pans, double-click shows everything.
PlotResult line_plot(const Ui& ui, const char* id, ImVec2 min, ImVec2 max, std::span<const PlotSeries> series, PlotView& view,
                     PlotCursor& cursor, const PlotOptions& options = {});

}  // namespace attn::app
