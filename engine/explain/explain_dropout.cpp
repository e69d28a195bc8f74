#include "engine/explain/explain_stage.hpp"

namespace attn::provenance {
namespace {

/// The factor by which dropout multiplies a cell.
Operand factor_operand(double factor) { return constant(factor == 0 ? "dropped" : "1/(1-p)", factor); }

std::string fate(double factor) {
    return factor == 0 ? "Dropped: it becomes 0." : "Not dropped: it is scaled up to make up for those that are.";
}

/// A summand that goes through dropout.
Term through_dropout(std::string label, Operand value, double rate, double factor) {
    if (rate == 0) return single(std::move(label), std::move(value));
    return product(std::move(label), std::move(value), factor_operand(factor));
}

Provenance embedding(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const double rate = cells.settings().dropout.embedding;
    Provenance out;
    out.formula = cell(cells, id, index) + " = ";
    for (const StageId& input : node.inputs) {
        out.formula += (out.terms.empty() ? "" : " + ") + cell(cells, input, index);
        out.terms.push_back(single(input.stage == Stage::PositionEmbedding  ? "position"
                                   : input.stage == Stage::SegmentEmbedding ? "segment"
                                                                            : "token",
                                   cells.operand(input, index)));
    }
    out.result = sum_of(out.terms);
    out.sentence = out.terms.size() == 1   ? "No positions: the token's row alone."
                   : out.terms.size() == 2 ? "What the token is plus where it is."
                                           : "What the token is, plus where it is and which part of the text it is in.";
    if (rate == 0) return out;
    const double factor = cells.dropout_factor(id, cells.shape(id), index, rate);
    out.steps.push_back({"sum", out.result, {}});
    out.result = factor == 0 ? 0 : out.result * factor;
    out.steps.push_back({"dropout", out.result, {factor_operand(factor)}});
    out.sentence += " " + fate(factor);
    return out;
}

Provenance residual(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const StageId result = node.inputs.back();
    const double rate = cells.settings().dropout.residual;
    const double factor = rate == 0 ? 1 : cells.dropout_factor(node.dropout_site, cells.shape(id), index, rate);
    const std::string added = cell(cells, result, index);
    const bool replaces = node.inputs.size() == 1, normed = cells.config().residual_from_norm;
    Provenance out;
    out.formula = cell(cells, id, index) + " = " + (replaces ? "" : cell(cells, node.inputs.front(), index) + " + ") +
                  (rate == 0 ? added : "dropout(" + added + ")");
    out.sentence = replaces ? "The stream becomes the sublayer's result."
                   : normed ? "The sublayer's result is added to the norm that the sublayer has read."
                            : "The stream keeps its value and adds the sublayer's result.";
    if (rate != 0) out.sentence += " " + fate(factor);
    if (!replaces) out.terms.push_back(single(normed ? "norm" : "stream", cells.operand(node.inputs.front(), index)));
    out.terms.push_back(through_dropout("sublayer", cells.operand(result, index), rate, factor));
    out.result = sum_of(out.terms);
    out.steps.push_back({"sum", out.result, {}});
    return out;
}

Provenance dropped_at(double rate, const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const StageId input = node.inputs.at(0);
    Provenance out;
    out.masked = cells.masked(id, index);
    const double factor = rate == 0 ? 1 : cells.dropout_factor(id, cells.shape(id), index, rate);
    out.terms.push_back(through_dropout("", cells.operand(input, index), rate, factor));
    out.terms.front().masked = out.masked;
    out.formula = cell(cells, id, index) + " = " + cell(cells, input, index) + (rate == 0 ? "" : factor == 0 ? " · 0" : " ÷ (1 - p)");
    out.sentence = rate == 0 ? "Dropout is off: the weight passes unchanged." : fate(factor);
    out.result = factor == 0 ? 0 : out.terms.front().value;
    return out;
}

}  // namespace

Provenance add(const TraceCells& cells, const PlanNode& node, const Index& index) {
    return is_layer_stage(node.id.stage) ? residual(cells, node, index) : embedding(cells, node, index);
}

Provenance dropout(const TraceCells& cells, const PlanNode& node, const Index& index) {
    return dropped_at(cells.settings().dropout.attention, cells, node, index);
}

Provenance dropout_left_on(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const double set = cells.settings().dropout.attention;
    return dropped_at(set == 0 ? kDropoutLeftOn : set, cells, node, index);
}

}  // namespace attn::provenance
