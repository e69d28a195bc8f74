#include "engine/trace/meant.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/ops/linear.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
Tensor<float> projection_before_split(const Trace<float>& trace, const StageId& id) {
    const PlanNode& node = trace.plan->at(id);
    const RecordedStage<float>* input = trace.find(node.inputs.at(0));
    if (trace.parameters == nullptr || input == nullptr) throw Error("the trace does not hold what " + tensor_name(id) + " is made of");
    const ParameterPlace place = trace.parameters->layout().place(node.weight.name);
    if (place.whole == nullptr) throw Error("the model has no parameter " + node.weight.name);
    const ParameterPlace bias_place = trace.parameters->layout().place(node.bias.name);
    const float *values = trace.parameters->data() + place.whole->offset,
                *bias = bias_place.whole == nullptr ? nullptr : trace.parameters->data() + bias_place.whole->offset;
    const Shape& shape = input->value.shape();
    const std::int64_t rows = shape[0].size * shape[1].size, width = place.columns, columns = place.stride();
    std::vector<float> packed(static_cast<std::size_t>(rows * columns));
    linear(input->value.data(), rows, shape[2].size, columns, values, bias, packed.data());
    Tensor<float> out({shape[0], shape[1], {Axis::C, width}});
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = packed.data() + row * columns + place.first_column;
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
