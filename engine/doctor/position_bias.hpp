#pragma once
/// Position biases (ALiBi's, T5's) that a program added to its scores and its recording does not hold.

#include <optional>

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

struct PositionBias {
    std::vector<double> values;  ///< [H,T,S]
    double error = 0;            ///< how far rounding may have carried one of them
    std::size_t distances = 0;   ///< how many distances of all heads some cell tells
};

/// What masked scores, or weights, have beyond their scaled scores, read as a number for every head and distance s - t. Nothing where too
/// few cells share a distance to tell, or where it is the same at every distance; whether all cells agree is for a recomputation to find
/// out. Only cells of `keep` speak.
///   scaled [H,T,S]  keep [H,T,S]
std::optional<PositionBias> observed_position_bias(const Sequence& sequence, const Estimate& scaled, const Keep& keep,
                                                   const Rounding& rounding);

}  // namespace attn::doctor
