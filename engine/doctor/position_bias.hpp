#pragma once
/// Finds position biases (ALiBi's, T5's) that a program added to its scores without recording them.

#include <optional>

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

struct PositionBias {
    std::vector<double> values;  ///< [H,T,S]
    double error = 0;            ///< bound on the rounding error of each value
    std::size_t distances = 0;   ///< number of distances, over all heads, that some cell reveals
    Part from = Part::Masked;    ///< see Intent::bias_from
};

/// What a bias depends on, besides its head.
enum class BiasAxis : std::uint8_t {
    Distance,  ///< s - t: T5's, and most programs' ALiBi
    Key,       ///< s, linearly, as BLOOM, Falcon and MPT have ALiBi: the same as by distance but for a number per row
};

/// The difference between a recorded part (scores, scaled, masked or weights, of which the logarithms are taken) and what it would be
/// without a bias, as a function of head and distance, or key. Considers only cells of `keep`. nullopt if too few cells share a distance,
/// or if all distances have the same value. Whether all cells agree is for a recomputation to determine.
///   without [H,T,S]  keep [H,T,S]
std::optional<PositionBias> observed_position_bias(const Sequence& sequence, Part part, const Estimate& without, const Keep& keep,
                                                   const Rounding& rounding, BiasAxis axis = BiasAxis::Distance);

}  // namespace attn::doctor
