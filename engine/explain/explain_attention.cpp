#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "engine/explain/explain_stage.hpp"

namespace attn::provenance {
namespace {

std::string pair_text(const Index& index) { return "query position " + number(index[2]) + " and key position " + number(index[3]); }

/// The causal rule that forbids the cell, in words; empty if none does.
std::string causal_rule(const MaskSettings& masks, MaskRule rule, std::int64_t t, std::int64_t s) {
    if (!masks.causal || s < masks.prefix) return "";
    switch (rule) {
    case MaskRule::LeaksOne:
        return s > t + 1 ? "the key comes more than one position after the query (causal, off by one)" : "";
    case MaskRule::MasksSelf:
        return s >= t ? "the key does not come before the query (causal, off by one)" : "";
    default:
        return s > t ? "the key comes after the query (causal)" : "";
    }
}

/// "1 position", "3 positions"
std::string positions_away(std::int64_t offset) {
    const std::int64_t away = std::abs(offset);
    return number(away) + (away == 1 ? " position" : " positions");
}

/// Why the settings forbid this cell, one clause per rule; empty if none does.
std::vector<std::string> forbidding_rules(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const MaskSettings& masks = cells.settings().masks;
    const MaskRule rule = node.settings.mask_rule;
    const std::int64_t t = index[2], s = index[3];
    const bool from_memory = node.id.attention == kCrossAttention, on_queries = rule == MaskRule::PaddingOnQueries && !from_memory;
    const TokenBatch& keys = cells.tokens(from_memory ? Stack::Encoder : node.id.stack);
    std::vector<std::string> rules;
    if (rule == MaskRule::Inverted) return {"the mask is inverted, and this cell should be allowed"};
    if (masks.padding && (on_queries ? t : s) >= keys.lengths[static_cast<std::size_t>(index[0])])
        rules.push_back(on_queries ? "the query is padding" : "the key is padding");
    if (from_memory || node.id.stack == Stack::Encoder) return rules;
    if (const std::string causal = causal_rule(masks, rule, t, s); !causal.empty()) rules.push_back(causal);
    if (node.settings.window > 0 && std::abs(t - s) >= node.settings.window)
        rules.push_back("the key is " + positions_away(t - s) + " away, and the window of this layer is " + number(node.settings.window));
    if (masks.window > 0 && std::abs(t - s) >= masks.window)
        rules.push_back("the key is " + positions_away(t - s) + " away (window " + number(masks.window) + ")");
    if (masks.block > 0 && t / masks.block != s / masks.block)
        rules.push_back("the key is in another block (blocks of " + number(masks.block) + ")");
    for (const PaintedCell& painted : masks.painted)
        if (painted.query == t && painted.key == s) {
            rules.push_back("the cell was painted out");
            break;
        }
    return rules;
}

std::string joined(const std::vector<std::string>& clauses) {
    std::string out;
    for (const std::string& clause : clauses) out += (out.empty() ? "" : ", and ") + clause;
    return out;
}

/// The key/value head a query head uses, and a sentence about it if several share one.
struct ReadHead {
    std::int64_t head;
    std::string words;
};

ReadHead read_head(const TraceCells& cells, const StageId& read, std::int64_t head) {
    const Shape& shape = cells.shape(read);
    if (!shape.has(Axis::G)) return {head, ""};
    const std::int64_t own = head / cells.config().group_size();
    return {own,
            " Query head " + number(head) + " reads " + axis_words(Axis::G) + " " + number(own) + " of " + number(shape[1].size) + "."};
}

}  // namespace

Provenance scores(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const auto [b, h, t, s] = index;
    const StageId q = node.inputs.at(0), k = node.inputs.at(1);
    const ReadHead read = read_head(cells, k, h);
    Provenance out;
    out.formula = cell(cells, id, index) + " = Σ over d of " + name_beside(q, node.id) + "[" + number(t) + ",d] · " +
                  name_beside(k, node.id) + "[" + number(s) + ",d]";
    out.sentence = "Query position " + number(t) + " times key position " + number(s) + ": one product per dimension." + read.words;
    for (std::int64_t d = 0; d < cells.shape(q)[3].size; ++d)
        out.terms.push_back(product(number(d), cells.operand(q, {b, h, t, d}), cells.operand(k, {b, read.head, s, d})));
    out.result = sum_of(out.terms);
    out.steps.push_back({"sum", out.result, {}});
    return out;
}

namespace {

/// What scores are divided by.
struct Divisor {
    std::string symbol;  ///< "√8"; "" for none
    double value = 1;
    std::string words;
};

Divisor divisor_of(const TraceCells& cells, double factor) {
    const std::int64_t size = cells.config().head_size(), width = cells.config().d_model;
    const double divisor = 1 / factor;
    const auto is = [&](double other) { return std::abs(divisor - other) <= 1e-9 * other; };
    const auto root = [](std::int64_t n) { return std::sqrt(static_cast<double>(n)); };
    if (is(root(size)))
        return {"√" + number(size), root(size),
                " divided by the square root of the " + number(size) +
                    " dimensions of a head, so that its spread does not grow with them."};
    if (is(1)) return {"", 1, " as it is: it is not divided."};
    if (is(root(width)))
        return {"√" + number(width), root(width), " divided by the square root of the " + number(width) + " dimensions of the model."};
    if (is(static_cast<double>(size)))
        return {number(size), static_cast<double>(size), " divided by √" + number(size) + " twice, that is by " + number(size) + "."};
    const std::string symbol = fmt::format("{:g}", divisor);
    return {symbol, divisor, " divided by " + symbol + "."};
}

}  // namespace

Provenance scale(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const StageId input = node.inputs.at(0);
    if (!is_attention_map(id.stage)) {
        const std::string factor = fmt::format("{:g}", node.settings.factor);
        Provenance out;
        out.formula = cell(cells, id, index) + " = " + cell(cells, input, index) + " · " + factor;
        out.sentence = "The input of the output head is multiplied by " + factor + ".";
        out.terms.push_back(product("", cells.operand(input, index), constant("factor", node.settings.factor)));
        out.result = out.terms.front().value;
        return out;
    }
    const Divisor divisor = divisor_of(cells, node.settings.factor);
    Provenance out;
    out.formula = cell(cells, id, index) + " = " + cell(cells, input, index);
    out.sentence = "The score of " + pair_text(index) + divisor.words;
    const Operand score = cells.operand(input, index);
    if (divisor.symbol.empty()) {
        out.terms.push_back(single("", score));
        out.result = score.value;
        return out;
    }
    out.formula += " ÷ " + divisor.symbol;
    Term term;
    term.operands = {score, constant(divisor.symbol, divisor.value)};
    term.value = score.value / divisor.value;
    term.divides = true;
    out.terms.push_back(term);
    out.result = term.value;
    return out;
}

namespace {

/// Where the key is, `offset` positions after the query.
std::string place_of_key(std::int64_t offset) {
    if (offset == 0) return "The key is at the query's own position";
    return "The key is " + positions_away(offset) + (offset > 0 ? " after" : " before") + " the query";
}

/// Explains T5's bias: what a head has learned for a bucket of distances.
Provenance learned_bias(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const std::int64_t head = index[1], offset = index[3] - index[2], bucket = bucket_of(node.settings.buckets, offset);
    const Operand score = cells.operand(node.inputs.at(0), index);
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = " + score.label + " + bias[" + number(bucket) + "," + number(head) + "]";
    out.sentence = place_of_key(offset) + ", in distance range " + number(bucket) + "; each head has learned a number for each range.";
    out.terms.push_back(single("", score));
    out.terms.push_back(single("bias", cells.parameter(node.weight.name, {bucket, head, 0, 0})));
    out.result = sum_of(out.terms);
    out.steps.push_back({"sum", out.result, {}});
    return out;
}

}  // namespace

Provenance bias(const TraceCells& cells, const PlanNode& node, const Index& index) {
    if (!node.weight.empty()) return learned_bias(cells, node, index);
    const std::int64_t head = index[1], distance = index[2] - index[3];
    const double slope = node.settings.slopes.at(static_cast<std::size_t>(head));
    const Operand score = cells.operand(node.inputs.at(0), index);
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = " + score.label + " − " + number(distance) + " · slope";
    out.sentence = place_of_key(-distance) + "; in head " + number(head) + " each position back costs " + fmt::format("{:g}", slope) + ".";
    out.terms.push_back(single("", score));
    out.terms.push_back(product("distance", constant("−slope", -slope), constant("distance", static_cast<double>(distance))));
    out.result = sum_of(out.terms);
    out.steps.push_back({"sum", out.result, {}});
    return out;
}

Provenance mask(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const StageId input = node.inputs.at(0);
    const Operand score = cells.operand(input, index);
    const double bias = cells.bias(id, index);
    Provenance out;
    out.masked = cells.masked(id, index);
    out.terms.push_back(single("", score));
    out.terms.front().masked = out.masked;
    if (out.masked) {
        const std::string rules = joined(forbidding_rules(cells, node, index));
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

namespace {

/// Which numbers a softmax adds up.
struct Summed {
    bool down = false;       ///< those of a column, with queries in the place of keys
    bool forbidden = false;  ///< also those that the mask forbids
};

Provenance share(const TraceCells& cells, const PlanNode& node, const Index& index, const Summed& summed) {
    const StageId& id = node.id;
    const auto [b, h, t, own] = index;
    const StageId input = node.inputs.at(0);
    const bool down = summed.down;
    const std::int64_t count = cells.shape(id)[down ? 2 : 3].size, chosen = down ? t : own;
    const double temperature = cells.settings().temperature;
    double largest = -std::numeric_limits<double>::infinity();
    Provenance out;
    out.masked = cells.masked(id, index);
    std::int64_t allowed = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const Index at = {b, h, down ? i : t, down ? own : i};
        Term term = single(number(i), cells.operand(input, at));
        term.key = i;
        term.masked = !summed.forbidden && cells.masked(id, at);
        term.own = i == chosen;
        allowed += term.masked ? 0 : 1;
        // Once the maximum is NaN it stays NaN, so that NaN spreads over the row as in the trace.
        if (!term.masked && !std::isnan(largest) && !(term.value <= largest)) largest = term.value;
        out.terms.push_back(std::move(term));
    }
    // Without any key our models give 0, and other people's code 0 ÷ 0.
    const bool nothing = node.origin.called.empty() && largest == -std::numeric_limits<double>::infinity();
    for (Term& term : out.terms) term.value = term.masked || nothing ? 0 : std::exp((term.value - largest) / temperature);
    const double sum = sum_of(out.terms);
    const auto exponential = [&](const std::string& place) {
        const std::string shifted = name_beside(input, node.id) + "[" + place + "] - max";
        return temperature == 1 ? "exp(" + shifted + ")" : "exp((" + shifted + ") ÷ τ)";
    };
    out.formula = cell(cells, id, index) + " = " + exponential(number(t) + "," + number(own)) + " ÷ Σ over " +
                  (down ? "t of " + exponential("t," + number(own)) : "s of " + exponential(number(t) + ",s"));
    out.steps.push_back({"max", largest, {}});
    if (temperature != 1) out.steps.push_back({"temperature τ", temperature, {}});
    out.steps.push_back({"Σ exp", sum, {}});
    const std::string amount = number(allowed);
    if (allowed == 0 && down) out.sentence = "Key position " + number(own) + " may be attended to by no query: its whole column is 0.";
    else if (allowed == 0) out.sentence = "Query position " + number(t) + " may attend to no key: its whole row is 0.";
    else if (down)
        out.sentence = "The share of query position " + number(t) + " in what attends to key position " + number(own) + ", among " +
                       amount + (allowed == 1 ? " query." : " queries.");
    else
        out.sentence = "Softmax: the share of key position " + number(own) + " in what query position " + number(t) +
                       " attends to, among " + amount + (allowed == 1 ? " key." : " keys.");
    out.result = sum == 0 ? 0 : out.terms[static_cast<std::size_t>(chosen)].value / sum;
    out.steps.push_back({"exp ÷ Σ exp", out.result, {}});
    return out;
}

}  // namespace

Provenance softmax(const TraceCells& cells, const PlanNode& node, const Index& index) { return share(cells, node, index, {}); }

Provenance softmax_over_queries(const TraceCells& cells, const PlanNode& node, const Index& index) {
    return share(cells, node, index, {.down = true});
}

Provenance softmax_then_mask(const TraceCells& cells, const PlanNode& node, const Index& index) {
    Provenance out = share(cells, node, index, {.forbidden = true});
    if (!out.masked) return out;
    out.sentence = "Query position " + number(index[2]) + " may not attend to key position " + number(index[3]) +
                   ": its weight is set to 0 after the softmax, so the row sums to less than 1.";
    out.result = 0;
    return out;
}

namespace {

/// Where dropout has changed nothing in the row, what is mixed is called the weights.
StageId name_of_mixed(const TraceCells& cells, const StageId& map, const Index& index) {
    StageId weights = map;
    weights.stage = Stage::Weights;
    if (map.stage != Stage::Dropped || !cells.has(weights)) return map;
    for (std::int64_t s = 0; s < cells.shape(map)[3].size; ++s) {
        const Index at{index[0], index[1], index[2], s};
        if (cells.operand(map, at).value != cells.operand(weights, at).value) return map;
    }
    return weights;
}

}  // namespace

Provenance mix(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const StageId& id = node.id;
    const auto [b, h, t, d] = index;
    const StageId map = node.inputs.at(0), v = node.inputs.at(1);
    const ReadHead read = read_head(cells, v, h);
    const StageId named = name_of_mixed(cells, map, index);
    Provenance out;
    out.formula = cell(cells, id, index) + " = Σ over s of " + name_beside(named, node.id) + "[" + number(t) + ",s] · " +
                  name_beside(v, node.id) + "[s," + number(d) + "]";
    out.sentence = "Dimension " + number(d) + " of every " + (v.stage == Stage::K ? "key" : "value") +
                   " row, weighted by what query position " + number(t) + " attends to." + read.words;
    for (std::int64_t s = 0; s < cells.shape(map)[3].size; ++s) {
        Term term = product(number(s), cells.operand(map, {b, h, t, s}), cells.operand(v, {b, read.head, s, d}));
        term.key = s;
        term.masked = cells.masked(map, {b, h, t, s});
        if (term.masked) term.value = 0;  // ignored, whatever the value row holds
        out.terms.push_back(std::move(term));
    }
    out.result = sum_of(out.terms);
    out.steps.push_back({"sum", out.result, {}});
    return out;
}

namespace {

/// A number of concat that is the context's number at `from`.
Provenance taken(const TraceCells& cells, const PlanNode& node, const Index& index, const Index& from) {
    const StageId input = node.inputs.at(0);
    const std::string head = "head " + number(from[1]);
    Provenance out;
    out.formula = cell(cells, node.id, index) + " = " + cell(cells, input, from) + " of " + head;
    out.terms.push_back(single(head, cells.operand(input, from)));
    out.result = out.terms.front().value;
    return out;
}

}  // namespace

Provenance join_heads(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const auto [b, t, column, unused] = index;
    const std::int64_t size = cells.shape(node.inputs.at(0))[3].size;
    const Index from = {b, column / size, t, column % size};
    Provenance out = taken(cells, node, index, from);
    out.sentence =
        "Heads stand side by side: column " + number(column) + " is dimension " + number(from[3]) + " of head " + number(from[1]) + ".";
    return out;
}

Provenance join_by_reshape(const TraceCells& cells, const PlanNode& node, const Index& index) {
    const auto [b, t, column, unused] = index;
    const Shape& heads = cells.shape(node.inputs.at(0));
    const std::int64_t size = heads[3].size, positions = heads[2].size, flat = t * heads[1].size * size + column;
    const Index from = {b, flat / (positions * size), flat / size % positions, flat % size};
    Provenance out = taken(cells, node, index, from);
    out.sentence = "Number " + number(flat) + " of all heads one after another: head " + number(from[1]) + ", position " + number(from[2]) +
                   ", dimension " + number(from[3]) + ".";
    return out;
}

}  // namespace attn::provenance
