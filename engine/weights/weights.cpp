#include "engine/weights/weights.hpp"

#include <utility>

#include "engine/plan/plan.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// Calls f(name) for every parameter that the configuration's plan reads.
template <class F>
void for_each_parameter(const Config& config, const F& f) {
    const Plan plan(config);
    for (const PlanNode& node : plan.nodes())
        for (const PlanParameter* parameter : {&node.weight, &node.bias})
            if (!parameter->empty()) f(parameter->name);
}

}  // namespace

template <class Scalar>
Weights::Weights(const Parameters<Scalar>& parameters) : config_(parameters.config()) {
    for_each_parameter(config_, [&](const std::string& name) { views_[name] = parameters.view(name); });
}

template <class Scalar>
Weights::Weights(std::shared_ptr<const Parameters<Scalar>> parameters) : Weights(*parameters) {
    owner_ = std::move(parameters);
}

Weights::Weights(const Config& config, std::map<std::string, MatrixView, std::less<>> views, std::shared_ptr<const void> owner)
    : config_(config), views_(std::move(views)), owner_(std::move(owner)) {
    const ParameterLayout layout(config_);
    for_each_parameter(config_, [&](const std::string& name) {
        const ParameterPlace place = layout.place(name);
        const MatrixView view = find(name);
        if (!view) throw ShapeError("the model has no parameter " + name);
        if (view.rows != place.rows() || view.columns != place.columns)
            throw ShapeError(name + " is [" + std::to_string(view.rows) + ", " + std::to_string(view.columns) + "]; expected [" +
                             std::to_string(place.rows()) + ", " + std::to_string(place.columns) + "]");
    });
}

MatrixView Weights::find(std::string_view name) const {
    const auto found = views_.find(name);
    return found == views_.end() ? MatrixView{} : found->second;
}

template Weights::Weights(const Parameters<float>&);
template Weights::Weights(const Parameters<double>&);
template Weights::Weights(std::shared_ptr<const Parameters<float>>);
template Weights::Weights(std::shared_ptr<const Parameters<double>>);

}  // namespace attn
