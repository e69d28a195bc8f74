#pragma once
/// Plot axes: the position of a number, and the ticks.

#include <string>
#include <vector>

namespace attn::app {

struct PlotAxis {
    double lo = 0, hi = 1;  ///< lo < hi; both positive if `log`
    bool log = false;
};

struct PlotTick {
    double value = 0;
    std::string text;
};

/// The position of a number: 0 at lo, 1 at hi, possibly outside; NaN if undefined (a number <= 0 on a logarithmic axis).
double plot_place(const PlotAxis& axis, double value);
/// The inverse of plot_place().
double plot_value(const PlotAxis& axis, double place);
/// An axis that covers [lo, hi] with a margin; valid for any input (equal, NaN, or not positive on a logarithmic axis).
PlotAxis fit_axis(double lo, double hi, bool log, double margin);
/// About `most` ticks at round numbers: 1, 2 or 5 times a power of ten, or powers of ten on logarithmic axes. Whole numbers from 1000 on
/// have thousands separators; texts have just enough digits to tell neighbours apart.
std::vector<PlotTick> plot_ticks(const PlotAxis& axis, int most);

}  // namespace attn::app
