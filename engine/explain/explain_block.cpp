#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "engine/explain/explain_stage.hpp"

namespace attn::provenance {
namespace {

Provenance layer_norm(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const auto [b, t, column, unused] = index;
    const StageId input = node.inputs.at(0);
    const std::string name = name_beside(input, node.id);
    const std::int64_t width = cells.shape(input)[2].size;
    const auto n = static_cast<double>(width);
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = γ[" + number(column) + "] · (" + name + "[" + number(t) + "," + number(column) +
                  "] - mean) ÷ √(variance + ε) + β[" + number(column) + "]";
    out.sentence = "Row " + number(t) + " of " + name +
                   " is shifted to mean 0 and scaled to variance 1, then scaled and shifted per column. Each term is a squared distance "
                   "from the mean.";
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

/// The cells over which an RMS norm is computed, and the gain that applies to the explained cell.
struct NormRow {
    std::vector<Index> cells;
    std::size_t own = 0;     ///< index of the explained cell in `cells`
    std::int64_t gain = 0;   ///< index of its gain
    std::string sentence{};  ///< says which numbers are included
};

NormRow norm_row(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId input = node.inputs.at(0);
    const Shape& shape = cells.shape(input);
    const std::string name = name_beside(input, node.id);
    NormRow row;
    if (!node.has_heads()) {
        for (std::int64_t c = 0; c < shape[2].size; ++c) row.cells.push_back({index[0], index[1], c, 0});
        row.own = static_cast<std::size_t>(index[2]);
        row.gain = index[2];
        row.sentence = "Row " + number(index[1]) + " of " + name;
        return row;
    }
    const auto [b, head, position, dim] = index;
    const std::int64_t size = shape[3].size;
    const bool all = node.settings.all_heads;
    for (std::int64_t h = all ? 0 : head; h < (all ? shape[1].size : head + 1); ++h)
        for (std::int64_t d = 0; d < size; ++d) row.cells.push_back({b, h, position, d});
    row.gain = all ? head * size + dim : dim;
    row.own = static_cast<std::size_t>(row.gain);
    row.sentence = "Row " + number(position) + " of " + name + (all ? ", of all heads together," : "");
    return row;
}

Provenance rms_norm(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId input = node.inputs.at(0);
    const NormRow row = norm_row(cells, node, index);
    const bool plus_one = node.settings.norm_kind == NormKind::RmsPlusOne;
    const std::string gain = "γ[" + number(row.gain) + "]";
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = " + (plus_one ? "(1 + " + gain + ")" : gain) + " · " + cell(cells, input, index) +
                  " ÷ √(mean square + ε)";
    out.sentence =
        row.sentence + " is divided by its root mean square, then scaled per column; its mean is not removed. Each term is a square.";
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
        out.terms.push_back(single(number(static_cast<std::int64_t>(i)), cells.operand(input, row.cells[i])));
        out.terms.back().own = i == row.own;
        out.terms.back().value *= out.terms.back().value;
    }
    const Operand x = out.terms[row.own].operands.front();
    const Operand gamma = cells.parameter(node.weight.name, {row.gain, 0, 0, 0});
    const double square = sum_of(out.terms) / static_cast<double>(row.cells.size()), eps = node.settings.eps,
                 root = std::sqrt(square + eps);
    out.result = (gamma.value + (plus_one ? 1 : 0)) * x.value / root;
    out.steps = {{"mean square", square, {}},
                 {"ε", eps, {}},
                 {"√(mean square + ε)", root, {}},
                 {"x ÷ √(mean square + ε)", x.value / root, {x}},
                 {plus_one ? "× (1 + γ)" : "× γ", out.result, {gamma}}};
    return out;
}

}  // namespace

Provenance norm(const TraceCells& cells, const PlanNode& node, const Index& index) {
    return node.settings.norm_kind == NormKind::LayerNorm ? layer_norm(cells, node, index) : rms_norm(cells, node, index);
}

Provenance given(const TraceCells& cells, const PlanNode& node, const Index& index) {
    Provenance out;
    out.formula = cell(cells, node.id, index) + ", as it was recorded";
    if (!node.origin.name.empty()) out.formula.replace(0, stage_name(node.id).size(), node.origin.name);
    out.sentence = node.origin.called.empty() ? "This number was given; how it came about is not known."
                                              : "The number that your code computed here: " + node.origin.text() + ".";
    out.result = cells.operand(node.id, index).value;
    return out;
}

Provenance pass_on(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const StageId input = node.inputs.at(0);
    Provenance out;
    out.formula = cell(cells, id, index) + " = " + cell(cells, input, index);
    out.sentence = "The number passes unchanged.";
    out.terms.push_back(single("", cells.operand(input, index)));
    out.result = out.terms.front().value;
    return out;
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
    case Activation::GeluErf:
    case Activation::GeluClipped: {
        const bool clipped = node.settings.activation == Activation::GeluClipped;
        const double phi = 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
        out.formula = left + (clipped ? fmt::format("min(x · Φ(x), {:g})", kGeluLimit) : "x · Φ(x)") + from;
        out.sentence = "GELU: x times the share of a normal distribution below x";
        out.sentence += clipped ? fmt::format(", but at most {:g}.", kGeluLimit) : ".";
        out.result = x * phi;
        out.steps = {{"x ÷ √2", x / std::numbers::sqrt2, {}}, {"Φ(x) = ½ (1 + erf(x ÷ √2))", phi, {}}};
        if (clipped) out.steps.push_back({"x · Φ(x)", out.result, {}});
        if (clipped && out.result > kGeluLimit) out.result = kGeluLimit;
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
    case Activation::QuickGelu: {
        const double gate = 1 / (1 + std::exp(-kQuickGeluFactor * x));
        const std::string scaled = fmt::format("{:g} x", kQuickGeluFactor);
        out.formula = left + "x · σ(" + scaled + ")" + from;
        out.sentence = "QuickGELU: x times a sigmoid of it, a smooth switch between 0 and x close to GELU.";
        out.result = x * gate;
        out.steps = {{scaled, kQuickGeluFactor * x, {}}, {"σ(" + scaled + ") = 1 ÷ (1 + exp(−" + scaled + "))", gate, {}}};
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
    out.sentence = "The activated gate decides how much of the hidden unit passes.";
    out.result = out.terms.front().value;
    return out;
}

Provenance cap(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const Operand x = cells.operand(node.inputs.at(0), index);
    const double most = node.settings.cap, bent = std::tanh(x.value / most);
    const std::string limit = fmt::format("{:g}", most);
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = " + limit + " · tanh(" + x.label + " ÷ " + limit + ")";
    out.sentence = "Small numbers pass almost unchanged; large ones approach " + limit + " but never exceed it.";
    out.terms.push_back(single("", x));
    out.result = most * bent;
    out.steps = {{"x ÷ " + limit, x.value / most, {}}, {"tanh", bent, {}}, {"× " + limit, out.result, {}}};
    return out;
}

}  // namespace attn::provenance
