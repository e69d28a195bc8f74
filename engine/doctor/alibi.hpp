#pragma once
/// Linear position biases (ALiBi, Press et al., 2022): a penalty on every score that grows with the distance between query and key.

#include <optional>
#include <vector>

#include "engine/doctor/sequence.hpp"

namespace attn::doctor {

/// Slopes of the heads: 2^(-8i/H) for i = 1...H where H is a power of two. Else, as Press et al. do, those of the power of two below,
/// followed by every other one of the power above.
std::vector<double> alibi_slopes(std::int64_t heads);

/// The bias [H,T,S] of these slopes, -slope * |t + S - T - s|, or with `wrong_sign` its opposite.
std::vector<double> alibi_bias(const Sequence& sizes, bool wrong_sign);

/// How far the biases of sequence.intent may be off.
double bias_error(const Sequence& sequence);

/// Whether biases [H,T,S] reward distance instead of penalising it. Only cells of `keep` with s <= t + S - T speak: there some
/// implementations add slope * (s - t) and others -slope * |t - s|, which is the same. It has to be certain: every head is linear in the
/// distance (up to a number for each row) within `error`; no head falls with it and at least one grows; and either some head shows three
/// distances, or the slopes are ALiBi's own.
bool grows_with_distance(const Sequence& sizes, const std::vector<double>& bias, const Keep& keep, double error);

}  // namespace attn::doctor
