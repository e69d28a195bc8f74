#pragma once
/// Compares analytic gradients with central differences in double.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace attn {

inline constexpr double kGradientTolerance = 1e-6;

/// The largest error of `gradient` against fourth-order central differences of `loss` with respect to `x`, relative to the larger of the
/// two numbers, but at least to a thousandth of the tensor's largest gradient and to the uncertainty from rounding of the loss. Infinite if
/// anything is NaN. Of large tensors, every `stride`th number can be checked.
inline double worst_gradient_error(std::span<double> x, std::span<const double> gradient, const std::function<double()>& loss,
                                   std::size_t stride = 1) {
    constexpr double kStep = 1e-3;
    double largest = 0;
    std::vector<double> numeric(x.size());
    for (std::size_t i = 0; i < x.size(); i += stride) {
        const double before = x[i];
        const auto at = [&](double offset) {
            x[i] = before + offset;
            return loss();
        };
        numeric[i] = (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) / (12 * kStep);
        x[i] = before;
        largest = std::max({largest, std::abs(numeric[i]), std::abs(gradient[i])});
    }
    if (!std::isfinite(loss())) return HUGE_VAL;
    // Differences of numbers as large as the loss are uncertain in their last bits.
    const double undetermined = 4 * std::numeric_limits<double>::epsilon() * std::abs(loss()) / (kStep * kGradientTolerance);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); i += stride) {
        const double size = std::max({std::abs(numeric[i]), std::abs(gradient[i]), 1e-3 * largest, undetermined, 1e-12});
        const double error = std::abs(numeric[i] - gradient[i]) / size;
        if (!(error <= worst)) worst = std::isnan(error) ? HUGE_VAL : error;
    }
    return worst;
}

}  // namespace attn
