#include "engine/explain/explain_stage.hpp"

namespace attn::provenance {
namespace {

/// A number's row and column in the product before it was split into heads.
struct Place {
    std::int64_t row, column;
    std::int64_t flat = 0;  ///< for a split without transpose: flat index within the sequence
};

Place place_of(const TraceCells& cells, const PlanNode& node, const Index& index) {
    if (!node.has_heads()) return {index[1], index[2]};
    const auto [b, head, position, dim] = index;
    const Shape& shape = cells.shape(node.id);
    const std::int64_t size = shape[3].size, width = shape[1].size * size;
    if (node.op != Op::LinearByReshape) return {position, head * size + dim};
    const std::int64_t flat = (head * shape[2].size + position) * size + dim;
    return {flat / width, flat % width, flat};
}

std::string letter_of(const PlanNode& node) { return std::string(linear_subscript(node.id.stage)); }

/// "W_Q[c,3]", or "E[3,c]" for the tied head.
std::string weight_text(const PlanNode& node, const std::string& running, std::int64_t column) {
    if (node.weight.transposed) return "E[" + number(column) + "," + running + "]";
    return "W_" + letter_of(node) + "[" + running + "," + number(column) + "]";
}

std::string sentence_of(const PlanNode& node, const Index& index, const Place& place) {
    if (node.id.stage == Stage::Logits)
        return "How well the last row at position " + number(index[1]) + " matches token id " + number(place.column) + ".";
    const std::string matrix = "W_" + letter_of(node), input = name_beside(node.inputs.at(0), node.id);
    const std::string product = "ow " + number(place.row) + " of " + input + " times column " + number(place.column) + " of " + matrix;
    if (node.id.stage == Stage::AttentionOut) return "W_O mixes the heads: r" + product + ".";
    if (!node.has_heads()) return "R" + product + ".";
    const std::string head = axis_words(node.axes[1]) + (" " + number(index[1]));
    if (node.op != Op::LinearByReshape) return "R" + product + ", which is dimension " + number(index[3]) + " of " + head + ".";
    return "R" + product + ": number " + number(place.flat) + " of the sequence's projections, read as " + head + ", position " +
           number(index[2]) + ", dimension " + number(index[3]) + ".";
}

}  // namespace

Provenance linear(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& input = node.inputs.at(0);
    const Place place = place_of(cells, node, index);
    const std::string running = node.has_heads() || node.id.stage == Stage::Logits ? "c" : "i";
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = Σ over " + running + " of " + name_beside(input, node.id) + "[" + number(place.row) +
                  "," + running + "] · " + weight_text(node, running, place.column);
    if (!node.bias.empty()) out.formula += " + b_" + letter_of(node);
    out.sentence = sentence_of(node, index, place);
    for (std::int64_t i = 0; i < cells.shape(input)[2].size; ++i) {
        const Index at = node.weight.transposed ? Index{place.column, i, 0, 0} : Index{i, place.column, 0, 0};
        out.terms.push_back(product(number(i), cells.operand(input, {index[0], place.row, i, 0}), cells.parameter(node.weight.name, at)));
    }
    out.result = sum_of(out.terms);
    out.steps.push_back({"sum", out.result, {}});
    if (node.bias.empty()) return out;
    const Operand bias = cells.parameter(node.bias.name, {place.column, 0, 0, 0});
    out.result += bias.value;
    out.steps.push_back({"sum + bias", out.result, {bias}});
    return out;
}

}  // namespace attn::provenance
