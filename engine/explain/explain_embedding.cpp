#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/explain/explain_stage.hpp"

namespace attn::provenance {
namespace {

/// Which rows of a one-hot product to show: all of a small table, else the first two, the last, and those next to the 1.
bool shown_row(std::int64_t row, std::int64_t hot, std::int64_t rows) {
    constexpr std::int64_t kShowAll = 12;
    return rows <= kShowAll || row < 2 || row >= rows - 1 || std::abs(row - hot) <= 1;
}

/// Σ over rows of onehot(hot)[row] · table[row, column].
void add_one_hot(Provenance& out, const TraceCells& cells, const std::string& parameter, std::int64_t hot, std::int64_t column) {
    const std::int64_t rows = cells.place(parameter).rows();
    for (std::int64_t row = 0; row < rows; ++row) {
        if (!shown_row(row, hot, rows)) {
            ++out.omitted_terms;
            continue;
        }
        Term term = product(number(row), constant("one-hot[" + number(row) + "]", row == hot ? 1 : 0),
                            cells.parameter(parameter, {row, column, 0, 0}));
        if (row != hot) term.value = 0;  // the lookup does not read the other rows, whatever they hold
        term.own = row == hot;
        out.terms.push_back(std::move(term));
    }
    out.result = sum_of(out.terms);
    out.steps.push_back({"sum", out.result, {}});
}

}  // namespace

Provenance tokens(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const auto [b, t, unused_k, unused_l] = index;
    const TokenBatch& batch = cells.tokens(id.stack);
    Provenance out;
    out.formula = cell(cells, id, index) + " = id of the token at position " + number(t);
    const bool padding = t >= batch.lengths[static_cast<std::size_t>(b)];
    out.sentence = padding ? "Position " + number(t) + " is padding: the sequence is shorter than the longest of the batch."
                           : "The tokenizer's number for the token at position " + number(t) + ".";
    out.result = batch.ids[static_cast<std::size_t>(b * batch.length + t)];
    return out;
}

Provenance embed(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const auto [b, t, column, unused] = index;
    const Operand token = cells.operand(node.inputs.at(0), {b, t, 0, 0});
    const auto row = static_cast<std::int64_t>(token.value);
    const double factor = node.settings.factor;
    const std::string scaled = factor == 1 ? "" : fmt::format("{:g} · ", factor);
    Provenance out;
    out.formula = cell(cells, id, index) + " = " + scaled + "Σ over v of one-hot(" + number(row) + ")[v] · W_E[v," + number(column) +
                  "] = " + scaled + "W_E[" + number(row) + "," + number(column) + "]";
    out.sentence = "The token's id " + number(row) + " picks row " + number(row) +
                   " of the embedding table, which equals a one-hot row times the table.";
    add_one_hot(out, cells, node.weight.name, row, column);
    if (factor != 1) {
        const std::string times = fmt::format("{:g}", factor);
        out.sentence += " It is then multiplied by " + times + ".";
        out.result *= factor;
        out.steps.push_back({"× " + times, out.result, {}});
    }
    out.steps.push_back({"token id", token.value, {token}});
    return out;
}

Provenance positions(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const auto [b, t, column, unused] = index;
    Provenance out;
    if (!node.weight.empty()) {
        out.formula = cell(cells, id, index) + " = P[" + number(t) + "," + number(column) + "]";
        out.sentence = "Position " + number(t) + " picks row " + number(t) + " of the learned position table, whatever the token.";
        out.terms.push_back(single("", cells.parameter(node.weight.name, {t, column, 0, 0})));
        out.result = out.terms.front().value;
        return out;
    }
    const std::int64_t even = column - column % 2, width = cells.config().d_model;
    const char* wave = column % 2 == 0 ? "sin" : "cos";
    const double period = std::pow(10000.0, static_cast<double>(even) / static_cast<double>(width));
    out.formula = cell(cells, id, index) + " = " + wave + "(" + number(t) + " ÷ 10000^(" + number(even) + "/" + number(width) + "))";
    out.sentence = "A fixed wave: even columns are sines, odd ones cosines, slower to the right.";
    const double angle = static_cast<double>(t) / period;
    out.result = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
    out.steps = {{"10000^(" + number(even) + "/" + number(width) + ")", period, {}}, {"angle", angle, {}}, {wave, out.result, {}}};
    return out;
}

Provenance segments(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const auto [b, t, column, unused] = index;
    const TokenBatch& batch = cells.tokens(node.id.stack);
    const std::int64_t row = batch.segments.empty() ? 0 : batch.segments[static_cast<std::size_t>(b * batch.length + t)];
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = S[" + number(row) + "," + number(column) + "]";
    out.sentence = "The token belongs to segment " + number(row) + " of the text and gets row " + number(row) + " of the segment table.";
    out.terms.push_back(single("", cells.parameter(node.weight.name, {row, column, 0, 0})));
    out.result = out.terms.front().value;
    return out;
}

Provenance probabilities(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const auto [b, t, own, unused] = index;
    const StageId input = node.inputs.at(0);
    const std::string row = stage_name(input) + "[" + number(t) + ",";
    Provenance out;
    out.formula = cell(cells, id, index) + " = exp(" + row + number(own) + "] - max) ÷ Σ over v of exp(" + row + "v] - max)";
    out.sentence = "Softmax over the vocabulary: the probability that token id " + number(own) +
                   (cells.config().architecture == Architecture::Encoder ? " stands at position " : " comes after position ") + number(t) +
                   ".";
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t v = 0; v < cells.shape(id)[2].size; ++v) {
        Term term = single(number(v), cells.operand(input, {b, t, v, 0}));
        term.key = v;
        term.own = v == own;
        largest = std::max(largest, term.value);
        out.terms.push_back(std::move(term));
    }
    for (Term& term : out.terms) term.value = std::exp(term.value - largest);
    const double sum = sum_of(out.terms);
    out.result = out.terms[static_cast<std::size_t>(own)].value / sum;
    out.steps = {{"max", largest, {}}, {"Σ exp", sum, {}}, {"exp ÷ Σ exp", out.result, {}}};
    return out;
}

}  // namespace attn::provenance
