#include "engine/attention/large_logits.hpp"

#include <algorithm>
#include <limits>

namespace attn {
namespace {

/// Logits further below the largest than this, in units of the temperature, have weights below 1e-10.
constexpr double kNear = 24;
/// Bound on float's relative error in a logit, including the roundings of a long sum.
constexpr double kRounding = 1e-5;
/// A bias beyond this stands for -inf: in float, too, it swallows the score.
constexpr double kStandIn = 1e6;

template <class Scalar>
double logit(const LogitOperands<Scalar>& o, std::int64_t key, Scalar rounded) {
    if (o.bias != nullptr && std::abs(o.bias[key]) > kStandIn) return static_cast<double>(rounded);
    const Scalar* k = o.k + key * o.k_row;
    double sum = 0;
    for (std::int64_t i = 0; i < o.size; ++i) sum += static_cast<double>(o.q[i]) * static_cast<double>(k[i]);
    return o.factor * sum + (o.bias == nullptr ? 0 : o.bias[key]);
}

}  // namespace

template <class Scalar>
void center_large_logits(const LogitOperands<Scalar>& operands, std::int64_t keys, const std::uint8_t* keep, Scalar* x) {
    const auto kept = [&](std::int64_t s) { return keep == nullptr || keep[s] != 0; };
    double rounded = -std::numeric_limits<double>::infinity(), top = rounded;
    for (std::int64_t s = 0; s < keys; ++s)
        if (kept(s)) rounded = std::max(rounded, static_cast<double>(x[s]));
    const double near = rounded - kNear * operands.temperature - kRounding * std::abs(rounded);
    const auto exact = [&](std::int64_t s) {
        return static_cast<double>(x[s]) >= near ? logit(operands, s, x[s]) : static_cast<double>(x[s]);
    };
    for (std::int64_t s = 0; s < keys; ++s)
        if (kept(s)) top = std::max(top, exact(s));
    // Computed again rather than stored: only a few logits are near the largest, and threads should not allocate here.
    for (std::int64_t s = 0; s < keys; ++s)
        if (kept(s)) x[s] = static_cast<Scalar>(exact(s) - top);
}

template void center_large_logits<float>(const LogitOperands<float>&, std::int64_t, const std::uint8_t*, float*);
template void center_large_logits<double>(const LogitOperands<double>&, std::int64_t, const std::uint8_t*, double*);

}  // namespace attn
