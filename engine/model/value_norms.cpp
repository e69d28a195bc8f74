#include "engine/model/value_norms.hpp"

#include "engine/ops/linear.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/matrix.hpp"

namespace attn {

StageId values_of(const StageId& weights) { return of_same_attention(weights, Stage::V); }

Tensor<float> value_norms(const Trace<float>& trace, const StageId& weights) {
    if (weights.stage != Stage::Weights) throw Error(tensor_name(weights) + " are not attention weights");
    const RecordedStage<float>* values = trace.find(values_of(weights));
    if (values == nullptr) throw Error("the trace has no " + tensor_name(values_of(weights)));
    const PlanNode* node = trace.plan->find(of_same_attention(weights, Stage::AttentionOut));
    const Shape& shape = values->value.shape();
    const std::int64_t batches = shape[0].size, groups = shape[1].size, keys = shape[2].size, width = shape[3].size;
    const std::int64_t heads = trace.config.num_heads, sharing = heads / groups;
    Tensor<float> norms({{Axis::B, batches}, {Axis::H, heads}, {Axis::S, keys}});
    const MatrixView matrix = node == nullptr ? MatrixView{} : trace.parameters->view(node->weight.name);
    RowMajor<float> moved(keys, matrix ? matrix.columns : width);
    for (std::int64_t b = 0; b < batches; ++b)
        for (std::int64_t head = 0; head < heads; ++head) {
            const auto rows = matrix_of(values->value, b * groups + head / sharing);
            if (matrix) linear<float>(rows.data(), keys, matrix.rows_from(head * width, width), nullptr, moved.data());
            else moved = rows;
            matrix_of(norms, b).row(head) = moved.cast<double>().rowwise().norm().cast<float>();
        }
    return norms;
}

}  // namespace attn
