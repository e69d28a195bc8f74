#include <cmath>
#include <limits>

#include "engine/trace/explain_stage.hpp"

namespace attn::provenance {
namespace {

std::string name_of(const StageId& id) { return std::string(stage_name(id.stage)); }

/// "scores[3,1]"
std::string cell(const TraceCells& cells, const StageId& id, const Index& index) { return cell_label(name_of(id), cells.shape(id), index); }

std::string pair_text(const Index& index) { return "query position " + number(index[2]) + " and key position " + number(index[3]); }

/// Why the settings forbid this cell, one clause per rule; empty when no rule does.
std::vector<std::string> forbidding_rules(const TraceCells& cells, const StageId& id, const Index& index) {
    const MaskSettings& masks = cells.settings().masks;
    const std::int64_t t = index[2], s = index[3];
    const bool from_memory = is_cross(id.stage);
    const TokenBatch& keys = cells.tokens(from_memory ? Stack::Encoder : id.stack);
    std::vector<std::string> rules;
    if (masks.padding && s >= keys.lengths[static_cast<std::size_t>(index[0])]) rules.push_back("the key is padding");
    if (from_memory || id.stack == Stack::Encoder) return rules;
    if (masks.causal && s > t && s >= masks.prefix) rules.push_back("the key comes after the query (causal)");
    if (masks.window > 0 && std::abs(t - s) >= masks.window)
        rules.push_back("the key is " + number(std::abs(t - s)) + " positions away (window " + number(masks.window) + ")");
    if (masks.block > 0 && t / masks.block != s / masks.block)
        rules.push_back("the key is in another block (blocks of " + number(masks.block) + ")");
    for (const PaintedCell& painted : masks.painted)
        if (painted.query == t && painted.key == s) {
            rules.push_back("the cell was painted over");
            break;
        }
    return rules;
}

std::string joined(const std::vector<std::string>& clauses) {
    std::string out;
    for (const std::string& clause : clauses) out += (out.empty() ? "" : ", and ") + clause;
    return out;
}

/// A parameter's place inside the (packed) projections: its name and the column of head h, dimension d.
struct ProjectionColumn {
    std::string parameter;
    std::int64_t column;
};

ProjectionColumn projection_column(const TraceCells& cells, const StageId& id, std::int64_t head, std::int64_t dim) {
    const std::int64_t width = cells.config().attention_width(), column = head * cells.config().head_size() + dim;
    const Stage stage = to_self(id.stage);
    const std::int64_t part = stage == Stage::Q ? 0 : stage == Stage::K ? 1 : 2;
    if (!is_cross(id.stage)) return {parameter_prefix(id) + "attention.qkv", part * width + column};
    if (stage == Stage::Q) return {parameter_prefix(id) + "cross_attention.q", column};
    return {parameter_prefix(id) + "cross_attention.kv", (part - 1) * width + column};
}

}  // namespace

Provenance projection(const TraceCells& cells, const StageId& id, const Index& index) {
    const auto [b, head, position, dim] = index;
    const StageId input = input_of(cells, id);
    const auto [parameter, column] = projection_column(cells, id, head, dim);
    const char letter = to_self(id.stage) == Stage::Q ? 'Q' : to_self(id.stage) == Stage::K ? 'K' : 'V';
    const std::int64_t own_column = head * cells.config().head_size() + dim;
    Provenance out;
    out.formula = cell(cells, id, index) + " = Σ over c of " + name_of(input) + "[" + number(position) + ",c] · W_" + letter + "[c," +
                  number(own_column) + "]" + (cells.config().qkv_bias ? std::string(" + b_") + letter : "");
    out.sentence = "Row " + number(position) + " of " + name_of(input) + " times column " + number(own_column) + " of W_" + letter +
                   ", which is dimension " + number(dim) + " of head " + number(head) + ".";
    add_linear(out, cells, input, {b, position, 0, 0}, 2, parameter, column);
    return out;
}

Provenance scores(const TraceCells& cells, const StageId& id, const Index& index) {
    const auto [b, h, t, s] = index;
    const StageId q = input_of(cells, id, 0), k = input_of(cells, id, 1);
    Provenance out;
    out.formula =
        cell(cells, id, index) + " = Σ over d of " + name_of(q) + "[" + number(t) + ",d] · " + name_of(k) + "[" + number(s) + ",d]";
    out.sentence = "Query position " + number(t) + " times key position " + number(s) + ": one product per dimension.";
    for (std::int64_t d = 0; d < cells.shape(q)[3].size; ++d)
        out.terms.push_back(product(number(d), cells.operand(q, {b, h, t, d}), cells.operand(k, {b, h, s, d})));
    out.result = sum_of(out.terms);
    out.steps.push_back({"sum", out.result, {}});
    return out;
}

Provenance scaled(const TraceCells& cells, const StageId& id, const Index& index) {
    const StageId input = input_of(cells, id);
    const std::int64_t size = cells.config().head_size();
    Provenance out;
    out.formula = cell(cells, id, index) + " = " + cell(cells, input, index) + " ÷ √" + number(size);
    out.sentence = "The score of " + pair_text(index) + " divided by the square root of the " + number(size) +
                   " dimensions of a head, so that its spread does not grow with them.";
    const Operand score = cells.operand(input, index);
    const double root = std::sqrt(static_cast<double>(size));
    Term term;
    term.operands = {score, constant("√" + number(size), root)};
    term.value = score.value / root;
    term.divides = true;
    out.terms.push_back(term);
    out.result = term.value;
    return out;
}

Provenance masked(const TraceCells& cells, const StageId& id, const Index& index) {
    const StageId input = input_of(cells, id);
    const Operand score = cells.operand(input, index);
    const double bias = cells.bias(id, index);
    Provenance out;
    out.masked = cells.masked(id, index);
    out.terms.push_back(single("", score));
    out.terms.front().masked = out.masked;
    if (out.masked) {
        const std::string rules = joined(forbidding_rules(cells, id, index));
        out.formula = cell(cells, id, index) + " = -∞";
        out.sentence = "Query position " + number(index[2]) + " may not attend to key position " + number(index[3]) + ": " +
                       (rules.empty() ? "the mask forbids it" : rules) + ".";
        out.result = -std::numeric_limits<double>::infinity();
        return out;
    }
    out.formula = cell(cells, id, index) + " = " + score.label + (bias != 0 ? " + bias" : "");
    out.sentence = "Query position " + number(index[2]) + " may attend to key position " + number(index[3]) + ": the scaled score " +
                   (bias != 0 ? "gets its bias." : "passes unchanged.");
    if (bias != 0) out.terms.push_back(single("bias", constant("bias", bias)));
    out.result = score.value + bias;
    return out;
}

Provenance weights(const TraceCells& cells, const StageId& id, const Index& index) {
    const auto [b, h, t, own] = index;
    const StageId input = input_of(cells, id);
    const std::int64_t keys = cells.shape(id)[3].size;
    const double temperature = cells.settings().temperature;
    double largest = -std::numeric_limits<double>::infinity();
    Provenance out;
    out.masked = cells.masked(id, index);
    std::int64_t allowed = 0;
    for (std::int64_t s = 0; s < keys; ++s) {
        Term term = single(number(s), cells.operand(input, {b, h, t, s}));
        term.masked = cells.masked(id, {b, h, t, s});
        term.own = s == own;
        allowed += term.masked ? 0 : 1;
        // A NaN becomes the maximum and stays it, so that it spreads over the row as in the trace.
        if (!term.masked && !std::isnan(largest) && !(term.value <= largest)) largest = term.value;
        out.terms.push_back(std::move(term));
    }
    for (Term& term : out.terms)
        term.value =
            term.masked || largest == -std::numeric_limits<double>::infinity() ? 0 : std::exp((term.value - largest) / temperature);
    const double sum = sum_of(out.terms);
    const auto exponential = [&](const std::string& column) {
        const std::string shifted = name_of(input) + "[" + number(t) + "," + column + "] - max";
        return temperature == 1 ? "exp(" + shifted + ")" : "exp((" + shifted + ") ÷ τ)";
    };
    out.formula = cell(cells, id, index) + " = " + exponential(number(own)) + " ÷ Σ over s of " + exponential("s");
    out.steps.push_back({"max", largest, {}});
    if (temperature != 1) out.steps.push_back({"temperature τ", temperature, {}});
    out.steps.push_back({"Σ exp", sum, {}});
    if (allowed == 0) out.sentence = "Query position " + number(t) + " may attend nowhere: its whole row is 0.";
    else
        out.sentence = "Softmax: the share of key position " + number(own) + " in what query position " + number(t) +
                       " attends to, among " + number(allowed) + (allowed == 1 ? " key." : " keys.");
    out.result = sum == 0 ? 0 : out.terms[static_cast<std::size_t>(own)].value / sum;
    out.steps.push_back({"exp ÷ Σ exp", out.result, {}});
    return out;
}

Provenance context(const TraceCells& cells, const StageId& id, const Index& index) {
    const auto [b, h, t, d] = index;
    const StageId map = input_of(cells, id, 0), v = input_of(cells, id, 1);
    Provenance out;
    out.formula =
        cell(cells, id, index) + " = Σ over s of " + name_of(map) + "[" + number(t) + ",s] · " + name_of(v) + "[s," + number(d) + "]";
    out.sentence = "Dimension " + number(d) + " of every value row, weighted by what query position " + number(t) + " attends to.";
    for (std::int64_t s = 0; s < cells.shape(map)[3].size; ++s) {
        Term term = product(number(s), cells.operand(map, {b, h, t, s}), cells.operand(v, {b, h, s, d}));
        term.masked = cells.masked(map, {b, h, t, s});
        if (term.masked) term.value = 0;  // takes no part, whatever the value row holds
        out.terms.push_back(std::move(term));
    }
    out.result = sum_of(out.terms);
    out.steps.push_back({"sum", out.result, {}});
    return out;
}

Provenance concat(const TraceCells& cells, const StageId& id, const Index& index) {
    const auto [b, t, column, unused] = index;
    const StageId input = input_of(cells, id);
    const std::int64_t size = cells.config().head_size(), head = column / size, dim = column % size;
    Provenance out;
    out.formula = cell(cells, id, index) + " = " + cell(cells, input, {b, head, t, dim}) + " of head " + number(head);
    out.sentence = "Heads stand side by side: column " + number(column) + " is dimension " + number(dim) + " of head " + number(head) + ".";
    out.terms.push_back(single("head " + number(head), cells.operand(input, {b, head, t, dim})));
    out.result = out.terms.front().value;
    return out;
}

Provenance attention_out(const TraceCells& cells, const StageId& id, const Index& index) {
    const auto [b, t, column, unused] = index;
    const StageId input = input_of(cells, id);
    Provenance out;
    out.formula = cell(cells, id, index) + " = Σ over i of " + name_of(input) + "[" + number(t) + ",i] · W_O[i," + number(column) + "]" +
                  (cells.config().output_bias ? " + b_O" : "");
    out.sentence = "W_O mixes the heads: row " + number(t) + " of " + name_of(input) + " times column " + number(column) + " of W_O.";
    add_linear(out, cells, input, {b, t, 0, 0}, 2, parameter_prefix(id) + (is_cross(id.stage) ? "cross_attention.out" : "attention.out"),
               column);
    return out;
}

}  // namespace attn::provenance
