#pragma once
/// Logits that float holds too coarsely: it rounds one of 4000 by up to 1.2e-4, and by as much, relatively, the weights of two keys that
/// nearly tie would be wrong, and every gradient through them. A softmax depends only on how far the logits of a row lie below the largest,
/// which float holds well.

#include <cmath>
#include <cstdint>

#include "engine/attention/mask.hpp"

namespace attn {

/// From here on the logits of a row (divided by the temperature) are replaced by their differences.
inline constexpr double kLargeLogit = 64;

/// Whether the largest logit of a row is such a one, or one far below 0. Never in double, beside which there is nothing more exact.
template <class Scalar>
bool is_large_logit(Scalar largest) {
    return sizeof(Scalar) < sizeof(double) && std::isfinite(largest) && std::abs(largest) >= static_cast<Scalar>(kLargeLogit);
}

/// Where the logits of a row come from: x[s] = factor q k[s] + bias[s].
template <class Scalar>
struct LogitOperands {
    const Scalar* q;     ///< [D]
    const Scalar* k;     ///< [S,D]
    std::int64_t k_row;  ///< distance between the rows of k
    std::int64_t size;   ///< D
    const double* bias;  ///< [S], or null
    double factor, temperature;
};

/// Subtracts the largest logit of a row from all of them. Those that have a weight worth speaking of are computed again in double, before
/// float rounds the difference; but not those with a bias beyond 1e6, which stands for -inf.
///   x [S]: finite where keep (null: everywhere) is not 0; the other cells stay
template <class Scalar>
void center_large_logits(const LogitOperands<Scalar>& operands, std::int64_t keys, const std::uint8_t* keep, Scalar* x);

}  // namespace attn
