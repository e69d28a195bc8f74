#pragma once
/// Finds position biases (ALiBi's, T5's) that a program added to its scores without recording them.

#include <optional>

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

struct PositionBias {
    std::vector<double> values;  ///< [H,T,S]
    double error = 0;            ///< bound on the rounding error of each value
    std::size_t distances = 0;   ///< number of distances, over all heads, that some cell reveals
};

/// The difference between masked scores, or log weights, and scaled scores, as a function of head and distance s - t. Considers only cells
/// of `keep`. nullopt if too few cells share a distance, or if all distances have the same value. Whether all cells agree is for a
/// recomputation to determine.
///   scaled [H,T,S]  keep [H,T,S]
std::optional<PositionBias> observed_position_bias(const Sequence& sequence, const Estimate& scaled, const Keep& keep,
                                                   const Rounding& rounding);

}  // namespace attn::doctor
