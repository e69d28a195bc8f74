#include "engine/plan/stage_shape.hpp"

#include "engine/tensor/error.hpp"

namespace attn {

std::int64_t axis_size(const Config& config, const PlanNode& node, Axis axis) {
    switch (axis) {
    case Axis::H:
        return config.num_heads;
    case Axis::G:
        return config.kv_heads();
    case Axis::D:
        return config.head_size();
    case Axis::F:
        return config.ff_of(node.id.stack);
    case Axis::V:
        return config.vocab_size;
    case Axis::N:
        return config.embedding_width();
    case Axis::C:
        return node.id.stage == Stage::Concat ? config.attention_width() : config.d_model;
    case Axis::B:
    case Axis::T:
    case Axis::S:
    case Axis::L:
        break;
    }
    throw Error("an axis of sequences, positions or layers has no size in the settings");
}

std::int64_t positions_along(const PlanNode& node, Axis axis, const BatchSizes& sizes) {
    const bool of_source = node.id.stack == Stack::Encoder || (axis == Axis::S && node.id.attention == kCrossAttention);
    return of_source ? sizes.source_positions : sizes.positions;
}

Shape stage_shape(const Config& config, const PlanNode& node, const BatchSizes& sizes) {
    Shape shape;
    for (const Axis axis : node.axes) {
        if (axis == Axis::B) shape.push_back({axis, sizes.sequences});
        else if (axis == Axis::T || axis == Axis::S) shape.push_back({axis, positions_along(node, axis, sizes)});
        else shape.push_back({axis, axis_size(config, node, axis)});
    }
    return shape;
}

}  // namespace attn
