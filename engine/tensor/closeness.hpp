#pragma once
/// How far a computed number is from the expected one, and how far it may be: the rule of every comparison of results.

#include <cmath>
#include <limits>

namespace attn {

/// |a - b|; 0 for equal infinities and for two NaNs, infinite if anything else is not finite.
inline double gap_between(double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    const double gap = std::abs(a - b);
    return std::isnan(gap) ? std::numeric_limits<double>::infinity() : gap;
}

/// absolute + relative |expected|; 0 for an infinite or NaN value, which must be met exactly.
inline double allowed_gap(double expected, double absolute, double relative) {
    return std::isfinite(expected) ? absolute + relative * std::abs(expected) : 0;
}

/// The gap in units of what is allowed: more than 1 fails.
inline double excess_of(double gap, double allowed) {
    return gap == 0 ? 0 : allowed > 0 ? gap / allowed : std::numeric_limits<double>::infinity();
}

}  // namespace attn
