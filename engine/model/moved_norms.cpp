#include "engine/model/moved_norms.hpp"

#include <cmath>
#include <vector>

#include "engine/ops/linear.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

float length_of(const float* row, std::int64_t width) {
    double sum = 0;
    for (std::int64_t c = 0; c < width; ++c) sum += static_cast<double>(row[c]) * static_cast<double>(row[c]);
    return static_cast<float>(std::sqrt(sum));
}

}  // namespace

StageId values_of(const StageId& weights) {
    StageId id = weights;
    id.stage = is_cross(weights.stage) ? Stage::CrossV : Stage::V;
    return id;
}

Tensor<float> moved_norms(const Trace<float>& trace, const StageId& weights) {
    if (to_self(weights.stage) != Stage::Weights) throw Error(tensor_name(weights) + " are no weights of attention");
    const RecordedStage<float>* values = trace.find(values_of(weights));
    if (values == nullptr) throw Error("the trace has no " + tensor_name(values_of(weights)));
    StageId out = weights;
    out.stage = is_cross(weights.stage) ? Stage::CrossAttentionOut : Stage::AttentionOut;
    const PlanNode* node = trace.plan->find(out);
    const Shape& shape = values->value.shape();
    const std::int64_t batches = shape[0].size, groups = shape[1].size, keys = shape[2].size, width = shape[3].size;
    const std::int64_t heads = trace.config.num_heads, sharing = heads / groups;
    Tensor<float> norms({{Axis::B, batches}, {Axis::H, heads}, {Axis::S, keys}});
    const MatrixView matrix = node == nullptr ? MatrixView{} : trace.parameters->view(node->weight.name);
    std::vector<float> moved(static_cast<std::size_t>(keys * std::max(matrix.columns, width)));
    for (std::int64_t b = 0; b < batches; ++b)
        for (std::int64_t head = 0; head < heads; ++head) {
            const float* rows = values->value.data() + (b * groups + head / sharing) * keys * width;
            const std::int64_t columns = matrix ? matrix.columns : width;
            if (matrix) linear<float>(rows, keys, matrix.rows_from(head * width, width), nullptr, moved.data());
            for (std::int64_t s = 0; s < keys; ++s) norms(b, head, s) = length_of((matrix ? moved.data() : rows) + s * columns, columns);
        }
    return norms;
}

}  // namespace attn
