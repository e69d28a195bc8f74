#include <cmath>

#include "engine/explain/explain_stage.hpp"

namespace attn::provenance {

Provenance rotate(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const auto [b, head, position, dim] = index;
    const StageId input = node.inputs.at(0);
    const std::int64_t size = cells.shape(input)[3].size, half = size / 2, pair = dim % half;
    const bool first = dim < half;
    const std::int64_t partner = first ? dim + half : dim - half;
    const Config& config = cells.config();
    const bool stretched = config.rotary_stretch.kind != RotaryScaling::None;
    const double base = config.rotary_base, plain = std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(size));
    const double frequency = node.settings.frequencies.at(static_cast<std::size_t>(pair));
    const double angle = static_cast<double>(position) * frequency, cosine = std::cos(angle), sine = std::sin(angle);
    const Operand own = cells.operand(input, index), other = cells.operand(input, {b, head, position, partner});
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = " + own.label + " · cos θ " + (first ? "− " : "+ ") + other.label +
                  " · sin θ with θ = " + number(position) + " · " +
                  (stretched ? "frequency " + number(pair) : "base^(−" + number(2 * pair) + "/" + number(size) + ")");
    out.sentence = "Dimensions " + number(pair) + " and " + number(pair + half) +
                   " are turned together by an angle that grows with the position, " +
                   "so that the product of a query and a key depends on how far apart they stand.";
    out.terms.push_back(product(number(dim), own, constant("cos θ", cosine)));
    out.terms.push_back(product(number(partner), other, first ? constant("−sin θ", -sine) : constant("sin θ", sine)));
    out.terms.front().own = true;
    out.result = sum_of(out.terms);
    out.steps = {{"base", base, {}}, {"frequency = base^(−" + number(2 * pair) + "/" + number(size) + ")", plain, {}}};
    if (stretched) out.steps.push_back({"the same, lowered for long texts", frequency, {}});
    out.steps.push_back({"θ = position · frequency", angle, {}});
    out.steps.push_back({"sum", out.result, {}});
    return out;
}

}  // namespace attn::provenance
