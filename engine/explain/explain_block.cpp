#include <cmath>
#include <numbers>

#include "engine/explain/explain_stage.hpp"

namespace attn::provenance {
namespace {

/// A norm that is left out.
Provenance passed_on(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const StageId input = node.inputs.at(0);
    Provenance out;
    out.formula = cell(cells, id, index) + " = " + cell(cells, input, index);
    out.sentence = "The number passes unchanged.";
    out.terms.push_back(single("", cells.operand(input, index)));
    out.result = out.terms.front().value;
    return out;
}

Provenance layer_norm(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const auto [b, t, column, unused] = index;
    const StageId input = node.inputs.at(0);
    const std::string name = name_of(input);
    const std::int64_t width = cells.shape(input)[2].size;
    const auto n = static_cast<double>(width);
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = γ[" + number(column) + "] · (" + name + "[" + number(t) + "," + number(column) +
                  "] - mean) ÷ √(variance + ε) + β[" + number(column) + "]";
    out.sentence = "Row " + number(t) + " of " + name +
                   " is brought to mean 0 and variance 1, then scaled and shifted per column. "
                   "Each term is a squared distance from the mean.";
    double mean = 0;
    for (std::int64_t c = 0; c < width; ++c) {
        out.terms.push_back(single(number(c), cells.operand(input, {b, t, c, 0})));
        out.terms.back().own = c == column;
        mean += out.terms.back().value / n;
    }
    const Operand x = out.terms[static_cast<std::size_t>(column)].operands.front();
    for (Term& term : out.terms) term.value = (term.value - mean) * (term.value - mean);
    const double variance = sum_of(out.terms) / n, eps = node.settings.eps, deviation = std::sqrt(variance + eps);
    const Operand gamma = cells.parameter(node.weight.name, {column, 0, 0, 0});
    const Operand beta = cells.parameter(node.bias.name, {column, 0, 0, 0});
    const double normalised = (x.value - mean) / deviation;
    out.result = gamma.value * normalised + beta.value;
    out.steps = {{"mean", mean, {}},
                 {"variance", variance, {}},
                 {"ε", eps, {}},
                 {"√(variance + ε)", deviation, {}},
                 {"(x - mean) ÷ √(variance + ε)", normalised, {x}},
                 {"× γ", gamma.value * normalised, {gamma}},
                 {"+ β", out.result, {beta}}};
    return out;
}

Provenance rms_norm(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const auto [b, t, column, unused] = index;
    const StageId input = node.inputs.at(0);
    const std::string name = name_of(input);
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = γ[" + number(column) + "] · " + name + "[" + number(t) + "," + number(column) +
                  "] ÷ √(mean square + ε)";
    out.sentence = "Row " + number(t) + " of " + name +
                   " is divided by its root mean square, then scaled per column; its mean stays. Each term is a square.";
    const std::int64_t width = cells.shape(input)[2].size;
    for (std::int64_t c = 0; c < width; ++c) {
        out.terms.push_back(single(number(c), cells.operand(input, {b, t, c, 0})));
        out.terms.back().own = c == column;
        out.terms.back().value *= out.terms.back().value;
    }
    const Operand x = out.terms[static_cast<std::size_t>(column)].operands.front();
    const Operand gamma = cells.parameter(node.weight.name, {column, 0, 0, 0});
    const double square = sum_of(out.terms) / static_cast<double>(width), eps = node.settings.eps, root = std::sqrt(square + eps);
    out.result = gamma.value * x.value / root;
    out.steps = {{"mean square", square, {}},
                 {"ε", eps, {}},
                 {"√(mean square + ε)", root, {}},
                 {"x ÷ √(mean square + ε)", x.value / root, {x}},
                 {"× γ", out.result, {gamma}}};
    return out;
}

}  // namespace

Provenance norm(const TraceCells& cells, const PlanNode& node, const Index& index) {
    if (node.settings.passes_on) return passed_on(cells, node, index);
    return node.settings.norm_kind == NormKind::Rms ? rms_norm(cells, node, index) : layer_norm(cells, node, index);
}

Provenance activate(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const StageId input = node.inputs.at(0);
    const Operand operand = cells.operand(input, index);
    const double x = operand.value;
    Provenance out;
    out.terms.push_back(single("x", operand));
    const std::string left = cell(cells, id, index) + " = ", from = " with x = " + operand.label;
    switch (node.settings.activation) {
    case Activation::Relu:
        out.formula = left + "max(0, x)" + from;
        out.sentence = "ReLU passes positive numbers and sets the rest to 0.";
        out.result = x < 0 ? 0 : x;
        break;
    case Activation::GeluErf: {
        const double phi = 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
        out.formula = left + "x · Φ(x)" + from;
        out.sentence = "GELU: x times the share of a normal distribution that lies below x.";
        out.result = x * phi;
        out.steps = {{"x ÷ √2", x / std::numbers::sqrt2, {}}, {"Φ(x) = ½ (1 + erf(x ÷ √2))", phi, {}}};
        break;
    }
    case Activation::GeluTanh: {
        const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x), bent = std::tanh(inner);
        out.formula = left + "½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))" + from;
        out.sentence = "GELU by its tanh formula: a smooth switch between 0 and x.";
        out.result = 0.5 * x * (1 + bent);
        out.steps = {{"√(2/π) (x + 0.044715 x³)", inner, {}}, {"tanh", bent, {}}};
        break;
    }
    case Activation::Silu: {
        const double gate = 1 / (1 + std::exp(-x));
        out.formula = left + "x · σ(x)" + from;
        out.sentence = "SiLU: x times its own sigmoid, a smooth switch between 0 and x.";
        out.result = x * gate;
        out.steps = {{"σ(x) = 1 ÷ (1 + exp(−x))", gate, {}}};
        break;
    }
    }
    out.steps.push_back({"result", out.result, {}});
    return out;
}

Provenance multiply(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId gate = node.inputs.at(0), hidden = node.inputs.at(1);
    Provenance out;
    out.terms.push_back(product("", cells.operand(gate, index), cells.operand(hidden, index)));
    out.formula = cell(cells, node.id, index) + " = " + cell(cells, gate, index) + " · " + cell(cells, hidden, index);
    out.sentence = "The activated gate decides how much of the hidden number passes.";
    out.result = out.terms.front().value;
    return out;
}

}  // namespace attn::provenance
