#pragma once
/// Finds places for the names of curves.

#include <imgui.h>

#include <optional>
#include <span>
#include <vector>

#include "app/widgets/box.hpp"
#include "app/widgets/line_plot.hpp"

namespace attn::app {

struct NamedCurve {
    const Curve* curve = nullptr;
    bool bold = false;    ///< otherwise faint
    ImVec2 name{0, 0};    ///< size of its name in pixels; 0: it is not named
    double named_at = 0;  ///< the x that the name should be close to
};

/// The box of each curve's name, in the order of `curves`: `gap` pixels from its curve, inside the plot, where it covers no other name and
/// no bold curve, preferably no faint one either; none where there is no such place.
std::vector<std::optional<Box>> place_names(const PlotArea& area, std::span<const NamedCurve> curves, float gap);

}  // namespace attn::app
