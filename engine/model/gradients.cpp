#include "engine/model/gradients.hpp"

#include <algorithm>

#include "engine/plan/plan.hpp"

namespace attn {

template <class Scalar>
Gradients<Scalar>::Gradients(const Config& config) : values(config) {
    std::vector<const ParameterInfo*> products;
    const Plan plan(config);
    for (const PlanNode& node : plan.nodes())
        if (node.op == Op::Linear && !node.weight.transposed) products.push_back(values.layout().place(node.weight.name).whole);
    for (const ParameterInfo& info : values.layout().entries())
        if (std::find(products.begin(), products.end(), &info) == products.end())
            sums.emplace_back(values.data() + info.offset, static_cast<std::size_t>(info.shape.count()));
}

template struct Gradients<float>;
template struct Gradients<double>;

}  // namespace attn
