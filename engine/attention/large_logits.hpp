#pragma once
/// A more accurate softmax of large logits. float rounds a logit of 4000 by up to 1.2e-4, so the weights of two nearly tied keys would be
/// wrong by as much, relatively, and so would every gradient through them. But a softmax depends only on the differences from a row's
/// largest logit, which float represents well.

#include <cmath>
#include <cstdint>

#include "engine/attention/mask.hpp"

namespace attn {

/// A row is centered if its largest logit, divided by the temperature, has at least this magnitude.
inline constexpr double kLargeLogit = 64;

/// Whether a row whose largest logit is `largest` needs centering. Never in double, as there is nothing more precise to compute it in.
template <class Scalar>
bool is_large_logit(Scalar largest) {
    return sizeof(Scalar) < sizeof(double) && std::isfinite(largest) && std::abs(largest) >= static_cast<Scalar>(kLargeLogit);
}

/// What the logits of a row are computed from: x[s] = factor q k[s] + bias[s].
template <class Scalar>
struct LogitOperands {
    const Scalar* q;     ///< [D]
    const Scalar* k;     ///< [S,D]
    std::int64_t k_row;  ///< distance between the rows of k
    std::int64_t size;   ///< D
    const double* bias;  ///< [S], or null
    double factor, temperature;
};

/// Subtracts a row's largest logit from all of them. Logits close enough to it to have a noticeable weight are first recomputed in double,
/// unless they have a bias beyond 1e6, which stands for -inf.
///   x [S]: finite where keep is not 0 (null: everywhere); other cells are left alone
template <class Scalar>
void center_large_logits(const LogitOperands<Scalar>& operands, std::int64_t keys, const std::uint8_t* keep, Scalar* x);

}  // namespace attn
