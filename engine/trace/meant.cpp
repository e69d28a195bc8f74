#include "engine/trace/meant.hpp"

#include <string>

#include "engine/ops/linear.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

Tensor<float> projection_before_split(const Trace<float>& trace, const StageId& id) {
    const PlanNode& node = trace.plan->at(id);
    const RecordedStage<float>* input = trace.find(node.inputs.at(0));
    if (trace.parameters == nullptr || input == nullptr) throw Error("the trace does not hold the inputs of " + tensor_name(id));
    const MatrixView weight = trace.parameters->view(node.weight.name), bias = trace.parameters->view(node.bias.name);
    if (!weight) throw Error("the model has no parameter " + node.weight.name);
    const Shape& shape = input->value.shape();
    Tensor<float> out({shape[0], shape[1], {Axis::C, weight.columns}});
    linear(input->value.data(), shape[0].size * shape[1].size, weight, bias.numbers<float>(), out.data());
    return out;
}

Mask meant_mask(const Trace<float>& trace, const StageId& id) {
    const MaskSettings& masks = trace.settings.masks;
    const TokenBatch &own = trace.tokens, &source = trace.source_tokens;
    if (is_cross(id.stage)) return build_cross_mask(masks, source.lengths, own.length, source.length);
    if (id.stack == Stack::Encoder) return build_cross_mask(masks, source.lengths, source.length, source.length);
    return build_mask(with_window(masks, trace.plan->at(id).settings.window), own.lengths, own.length);
}

}  // namespace attn
