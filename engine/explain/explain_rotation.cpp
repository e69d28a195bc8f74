#include <cmath>

#include "engine/explain/explain_stage.hpp"

namespace attn::provenance {

Provenance rotate(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const auto [b, head, position, dim] = index;
    const StageId input = node.inputs.at(0);
    const RotaryRule& rule = node.settings.rotary;
    const Operand own = cells.operand(input, index);
    Provenance out;
    if (dim >= rule.size) {
        out.formula = cell(cells, node.id, index) + " = " + own.label;
        out.sentence = "Only the first " + number(rule.size) + " dimensions of a head are rotated; this one passes unchanged.";
        out.terms.push_back(single("", own));
        out.result = own.value;
        return out;
    }
    const std::int64_t half = rule.size / 2, pair = dim % half;
    const bool first = dim < half, stretched = rule.stretch.kind != RotaryScaling::None;
    const std::int64_t partner = first ? dim + half : dim - half;
    const double plain = std::pow(rule.base, -2.0 * static_cast<double>(pair) / static_cast<double>(rule.size));
    const double frequency = rotary_frequencies(rule, cells.shape(input)[2].size).at(static_cast<std::size_t>(pair));
    const double angle = static_cast<double>(position) * frequency, amplitude = rule.stretch.amplitude;
    const double cosine = amplitude * std::cos(angle), sine = amplitude * std::sin(angle);
    const Operand other = cells.operand(input, {b, head, position, partner});
    const std::string power = "base^(−" + number(2 * pair) + "/" + number(rule.size) + ")", times = amplitude == 1 ? "" : "a ";
    out.formula = cell(cells, node.id, index) + " = " + own.label + " · " + times + "cos θ " + (first ? "− " : "+ ") + other.label + " · " +
                  times + "sin θ with θ = " + number(position) + " · " + (stretched ? "frequency " + number(pair) : power);
    out.sentence = "Dimensions " + number(pair) + " and " + number(pair + half) +
                   " are rotated together by an angle that grows with the position, " +
                   "so that the product of a query and a key depends on how far apart they are.";
    out.terms.push_back(product(number(dim), own, constant(times + "cos θ", cosine)));
    out.terms.push_back(product(number(partner), other, first ? constant("−" + times + "sin θ", -sine) : constant(times + "sin θ", sine)));
    out.terms.front().own = true;
    out.result = sum_of(out.terms);
    out.steps = {{"base", rule.base, {}}, {"frequency = " + power, plain, {}}};
    if (stretched) out.steps.push_back({"the same, lowered for long texts", frequency, {}});
    out.steps.push_back({"θ = position · frequency", angle, {}});
    if (amplitude != 1) out.steps.push_back({"a, by which sine and cosine are multiplied", amplitude, {}});
    out.steps.push_back({"sum", out.result, {}});
    return out;
}

}  // namespace attn::provenance
