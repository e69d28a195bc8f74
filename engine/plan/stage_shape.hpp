#pragma once
/// The shape of a stage's tensor, from the plan alone.

#include <cstdint>

#include "engine/plan/config.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/shape.hpp"

namespace attn {

/// What a model is applied to.
struct BatchSizes {
    std::int64_t sequences = 0, positions = 0;
    std::int64_t source_positions = 0;  ///< of the encoder of an encoder-decoder
};

/// Indices of an axis of a node's result, other than sequences and positions.
std::int64_t axis_size(const Config& config, const PlanNode& node, Axis axis);
/// Positions along an axis T or S.
std::int64_t positions_along(const PlanNode& node, Axis axis, const BatchSizes& sizes);
Shape stage_shape(const Config& config, const PlanNode& node, const BatchSizes& sizes);

}  // namespace attn
