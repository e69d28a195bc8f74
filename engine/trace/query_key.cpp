#include "engine/trace/query_key.hpp"

#include <limits>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

const Tensor<float>& recorded(const Trace<float>& trace, const StageId& id) {
    const RecordedStage<float>* found = trace.find(id);
    if (found == nullptr || found->value.empty()) throw Error("the trace has no " + tensor_name(id));
    return found->value;
}

}  // namespace

QueryKeyProduct query_key_product(const Trace<float>& trace, const StageId& scores, std::int64_t b, std::int64_t h, std::int64_t t,
                                  std::int64_t s, std::optional<float> score) {
    const PlanNode& node = trace.plan->at(scores);
    const Tensor<float>&q = recorded(trace, node.inputs.at(0)), &k = recorded(trace, node.inputs.at(1));
    const RecordedStage<float>* map = trace.find(scores, h);
    if (!score && (map == nullptr || map->value.empty())) throw Error("the trace has no " + tensor_name(scores));
    const Shape shape = trace.shape_of(scores);
    const std::int64_t index[] = {b, h, t, s};
    for (int a = 0; a < 4; ++a)
        if (index[a] < 0 || index[a] >= shape[a].size)
            throw Error(tensor_name(scores) + " " + shape.text() + " has no " + axis_words(shape[a].axis) + " " + std::to_string(index[a]));
    QueryKeyProduct out;
    const std::int64_t width = q.shape()[3].size, shared = shape[1].size / k.shape()[1].size;
    double magnitude = 0;
    for (std::int64_t d = 0; d < width; ++d) {
        out.query.push_back(q(b, h, t, d));
        out.key.push_back(k(b, h / shared, s, d));
        const double product = static_cast<double>(out.query.back()) * static_cast<double>(out.key.back());
        magnitude += std::abs(product);
        out.products.push_back(product);
        out.sum += product;
        out.running.push_back(out.sum);
    }
    out.score = score ? *score : map->value(b, map->place_of_head(h), t, s);
    out.rounding = static_cast<double>(width + 1) * static_cast<double>(std::numeric_limits<float>::epsilon()) * magnitude;
    return out;
}

}  // namespace attn
