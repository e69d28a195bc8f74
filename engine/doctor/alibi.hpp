#pragma once
/// Linear position biases (ALiBi, Press et al., 2022): a penalty on every score that grows with the distance between query and key.

#include <cstdint>
#include <vector>

#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// How programs write ALiBi. Up to the query's own position, t + S - T, the forms differ by a number per row only.
enum class AlibiForm : std::uint8_t {
    Distance,     ///< -slope * |t + S - T - s|
    Signed,       ///< slope * (s - t - S + T)
    Past,         ///< the same up to the query's own position, then 0
    Key,          ///< slope * s, as in BLOOM and Falcon
    KeyFromLast,  ///< slope * (s - S + 1), as in MPT
};

/// The bias [H,T,S] with the slopes of engine/plan/alibi.hpp, multiplied by `factor`.
std::vector<double> alibi_bias(const Sequence& sizes, AlibiForm form, double factor);

/// Bound on the errors of the biases in sequence.intent.
double bias_error(const Sequence& sequence);

/// Whether biases [H,T,S] reward distance instead of penalising it. Considers only cells of `keep` with s <= t + S - T, where the two
/// common forms, slope * (s - t) and -slope * |t - s|, agree. True only if certain: every head is linear in the distance (up to a constant
/// per row) within `error`; no head falls with distance and at least one grows; and either some head has three distances, or the slopes are
/// ALiBi's.
bool grows_with_distance(const Sequence& sizes, const std::vector<double>& bias, const Keep& keep, double error);

}  // namespace attn::doctor
