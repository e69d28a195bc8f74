#include "engine/trace/meant.hpp"

#include <string>

#include "engine/ops/linear.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

namespace {

MatrixView weight_of(const Trace<float>& trace, const StageId& id) {
    if (trace.parameters == nullptr) throw Error("the trace does not hold the parameters of " + tensor_name(id));
    const std::string& name = trace.plan->at(id).weight.name;
    const MatrixView weight = trace.parameters->view(name);
    if (!weight) throw Error("the model has no parameter " + name);
    return weight;
}

}  // namespace

Shape shape_before_split(const Trace<float>& trace, const StageId& id) {
    const Shape shape = trace.shape_of(trace.plan->at(id).inputs.at(0));
    return {shape[0], shape[1], {Axis::C, weight_of(trace, id).columns}};
}

Tensor<float> projection_before_split(const Trace<float>& trace, const StageId& id) {
    const PlanNode& node = trace.plan->at(id);
    const RecordedStage<float>* input = trace.find(node.inputs.at(0));
    if (input == nullptr) throw Error("the trace does not hold the input of " + tensor_name(id));
    const MatrixView weight = weight_of(trace, id), bias = trace.parameters->view(node.bias.name);
    Tensor<float> out(shape_before_split(trace, id));
    linear(input->value.data(), out.shape()[0].size * out.shape()[1].size, weight, bias.numbers<float>(), out.data());
    return out;
}

Mask meant_mask(const Trace<float>& trace, const StageId& id) {
    const MaskSettings& masks = trace.settings.masks;
    const TokenBatch &own = trace.tokens, &source = trace.source_tokens;
    if (id.attention == kCrossAttention) return build_cross_mask(masks, source.lengths, own.length, source.length);
    if (id.stack == Stack::Encoder) return build_cross_mask(masks, source.lengths, source.length, source.length);
    return build_mask(with_window(masks, trace.plan->at(id).settings.window), own.lengths, own.length);
}

}  // namespace attn
