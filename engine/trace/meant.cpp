#include "engine/trace/meant.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/ops/linear.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/explain_stage.hpp"
#include "engine/trace/wiring.hpp"

namespace attn {
namespace {

/// The packed map that a projection is a slice of.
struct PackedMap {
    std::string name;
    std::int64_t part = 0, parts = 1;  ///< which slice of how many
};

PackedMap packed_map(const StageId& id) {
    const Stage stage = to_self(id.stage);
    const std::int64_t part = stage == Stage::Q ? 0 : stage == Stage::K ? 1 : 2;
    const std::string prefix = provenance::parameter_prefix(id);
    if (!is_cross(id.stage)) return {prefix + "attention.qkv", part, 3};
    return part == 0 ? PackedMap{prefix + "cross_attention.q", 0, 1} : PackedMap{prefix + "cross_attention.kv", part - 1, 2};
}

}  // namespace

Tensor<float> projection_before_split(const Trace<float>& trace, const StageId& id) {
    const RecordedStage<float>* input = trace.find(stage_inputs(trace.config, id).at(0));
    if (trace.parameters == nullptr || input == nullptr) throw Error("the trace does not hold what " + tensor_name(id) + " is made of");
    const PackedMap map = packed_map(id);
    const float *weight = trace.parameters->find(map.name + ".weight"), *bias = trace.parameters->find(map.name + ".bias");
    if (weight == nullptr) throw Error("the model has no parameter " + map.name + ".weight");
    const Shape& shape = input->value.shape();
    const std::int64_t rows = shape[0].size * shape[1].size, width = trace.config.attention_width();
    std::vector<float> packed(static_cast<std::size_t>(rows * map.parts * width));
    linear(input->value.data(), rows, shape[2].size, map.parts * width, weight, bias, packed.data());
    Tensor<float> out({shape[0], shape[1], {Axis::C, width}});
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = packed.data() + (row * map.parts + map.part) * width;
        std::copy(from, from + width, out.data() + row * width);
    }
    return out;
}

Mask meant_mask(const Trace<float>& trace, const StageId& id) {
    const MaskSettings& masks = trace.settings.masks;
    const TokenBatch &own = trace.tokens, &source = trace.source_tokens;
    if (is_cross(id.stage)) return build_cross_mask(masks, source.lengths, own.length, source.length);
    if (id.stack == Stack::Encoder) return build_cross_mask(masks, source.lengths, source.length, source.length);
    return build_mask(masks, own.lengths, own.length);
}

}  // namespace attn
