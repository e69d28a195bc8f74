#include "app/widgets/plot_axis.hpp"

#include <algorithm>
#include <cmath>

#include "app/widgets/number.hpp"

namespace attn::app {
namespace {

/// A safety limit against endless loops.
constexpr int kMaxTicks = 200;

/// The smallest number 1, 2 or 5 × 10ⁿ that is at least `wanted`.
double round_step(double wanted) {
    const double power = std::pow(10.0, std::floor(std::log10(wanted)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= wanted * (1 - 1e-9)) return factor * power;
    }
    return 10 * power;
}

std::string tick_text(double value, double step) {
    if (std::abs(value) < step * 1e-6) return "0";
    const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
    if (decimals == 0 && std::abs(value) < 1e7) return format_count(std::llround(value));
    if (decimals > 0 && decimals <= 4 && std::abs(value) < 1e4) return format_number(value, {.decimals = decimals, .fixed = true});
    // Enough mantissa digits to tell neighbouring ticks apart.
    return format_scientific(value, std::clamp(static_cast<int>(std::ceil(std::log10(std::abs(value) / step) - 1e-9)), 0, 9));
}

std::vector<PlotTick> linear_ticks(const PlotAxis& axis, int most) {
    std::vector<PlotTick> ticks;
    const double step = round_step((axis.hi - axis.lo) / std::max(1, most));
    const double first = std::ceil(axis.lo / step - 1e-9);
    for (int i = 0; i < kMaxTicks; ++i) {
        const double value = (first + i) * step;
        if (!(value <= axis.hi + step * 1e-9)) break;
        ticks.push_back({value, tick_text(value, step)});
    }
    return ticks;
}

std::vector<PlotTick> log_ticks(const PlotAxis& axis, int most) {
    const double from = std::log10(axis.lo), to = std::log10(axis.hi);
    // Below one and a half decades there are too few powers of ten.
    if (to - from < 1.5) {
        std::vector<PlotTick> ticks = linear_ticks({axis.lo, axis.hi, false}, most);
        std::erase_if(ticks, [](const PlotTick& tick) { return tick.value <= 0; });
        return ticks;
    }
    std::vector<PlotTick> ticks;
    const double step = std::max(1.0, std::ceil((to - from) / std::max(1, most)));
    for (double exponent = std::ceil(from - 1e-9); exponent <= to + 1e-9; exponent += step) {
        const double value = std::pow(10.0, exponent);
        const bool plain = exponent >= -3 && exponent <= 5;
        ticks.push_back({value, plain ? tick_text(value, value) : format_scientific(value, 0)});
    }
    return ticks;
}

}  // namespace

double plot_place(const PlotAxis& axis, double value) {
    if (!axis.log) return (value - axis.lo) / (axis.hi - axis.lo);
    return value > 0 ? std::log(value / axis.lo) / std::log(axis.hi / axis.lo) : std::nan("");
}

double plot_value(const PlotAxis& axis, double place) {
    return axis.log ? axis.lo * std::pow(axis.hi / axis.lo, place) : axis.lo + (axis.hi - axis.lo) * place;
}

PlotAxis fit_axis(double lo, double hi, bool log, double margin) {
    // Keeps margins within the range of double.
    constexpr double kFar = 1e150;
    if (!std::isfinite(lo) || !std::isfinite(hi) || lo > hi) return log ? PlotAxis{0.1, 1, true} : PlotAxis{0, 1, false};
    lo = std::clamp(lo, -kFar, kFar);
    hi = std::clamp(hi, -kFar, kFar);
    if (log) {
        if (!(hi > 0)) return {0.1, 1, true};
        hi = std::max(hi, 1 / kFar);
        lo = lo > 0 ? std::max(lo, 1 / kFar) : hi / 1e4;
        const double ratio = std::max(hi / lo, 1.01);
        return {lo / std::pow(ratio, margin), lo * ratio * std::pow(ratio, margin), true};
    }
    double room = hi - lo;
    if (!(room > std::abs(hi) * 1e-12)) {
        room = hi == 0 ? 1 : std::abs(hi);
        lo -= room / 2;
        hi += room / 2;
    }
    return {lo - room * margin, hi + room * margin, false};
}

std::vector<PlotTick> plot_ticks(const PlotAxis& axis, int most) {
    if (!(axis.hi > axis.lo) || (axis.log && !(axis.lo > 0))) return {};
    return axis.log ? log_ticks(axis, most) : linear_ticks(axis, most);
}

}  // namespace attn::app
