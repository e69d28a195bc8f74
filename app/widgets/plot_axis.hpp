#pragma once
/// Axes of plots: where a number lies, and the round numbers written along them.

#include <string>
#include <vector>

namespace attn::app {

struct PlotAxis {
    double lo = 0, hi = 1;  ///< lo < hi; both positive where `log`
    bool log = false;
};

struct PlotTick {
    double value = 0;
    std::string text;
};

/// Place of a number, 0 at lo and 1 at hi, beyond them outside; NaN where there is none (a number <= 0 on a logarithmic axis).
double plot_place(const PlotAxis& axis, double value);
/// The inverse.
double plot_value(const PlotAxis& axis, double place);
/// An axis that holds [lo, hi] with a margin, usable whatever the numbers are (equal, NaN, or not positive on a logarithmic axis).
PlotAxis fit_axis(double lo, double hi, bool log, double margin);
/// At most about `most` round numbers inside the axis: 1, 2 or 5 times a power of ten, powers of ten on logarithmic axes.
/// Whole numbers from 1000 carry thousands separators; texts have just the digits that tell neighbours apart.
std::vector<PlotTick> plot_ticks(const PlotAxis& axis, int most);

}  // namespace attn::app
