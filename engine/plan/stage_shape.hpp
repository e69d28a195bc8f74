#pragma once
/// The shape of a stage's tensor, which follows from plan and configuration alone.

#include <cstdint>

#include "engine/plan/config.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/shape.hpp"

namespace attn {

/// Sizes of the input.
struct BatchSizes {
    std::int64_t sequences = 0, positions = 0;
    std::int64_t source_positions = 0;  ///< encoder positions of an encoder-decoder
};

/// Size of an axis of a node's result other than B, T and S.
std::int64_t axis_size(const Config& config, const PlanNode& node, Axis axis);
/// Number of positions along axis T or S.
std::int64_t positions_along(const PlanNode& node, Axis axis, const BatchSizes& sizes);
Shape stage_shape(const Config& config, const PlanNode& node, const BatchSizes& sizes);

}  // namespace attn
