#include "engine/recording/code_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/recording/finding_evidence.hpp"
#include "engine/recording/known_rotation.hpp"
#include "engine/recording/numbers.hpp"
#include "engine/recording/seen_cells.hpp"

namespace attn::recording {
namespace {

constexpr std::array<std::string_view, 3> kGravities{"wrong", "unusual", "worth knowing"};

bool is_about(double value, double expected) { return std::abs(value - expected) <= 1e-4 * std::abs(expected); }

/// Does a mask hold numbers of its own for what it shows, as where a bias of positions was added to it?
bool adds_bias(const Evidence& evidence) {
    for (const RecordedStage& stage : evidence.attention.stages) {
        const NamedArray* mask = stage.op == "mask" && !stage.mask.empty() ? evidence.step.find(stage.mask) : nullptr;
        if (mask == nullptr || mask->dtype == DType::Bool || stage.how != "add" || count_of(*mask) > kMostNumbers) continue;
        for (const double number : values_as<double>(evidence.step.read(stage.mask), evidence.step.source()))
            if (number != 0 && number > -kNoScore) return true;
    }
    return false;
}

/// Scores that are no plain product have no scale to ask for.
bool asks_for_scale(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    const RecordedStage* scores = attention.find("scores");
    return attention.scale && scores != nullptr && scores->op == "product" && evidence.with_op("bias") == nullptr &&
           attention.find("q_normed") == nullptr && attention.find("k_normed") == nullptr && evidence.with_op("add") == nullptr;
}

/// Are queries or keys something else than linear maps of a text? Attention between pixels, memories or activations is often not scaled.
bool has_other_operands(const Evidence& evidence) {
    for (const std::string_view name : {"q", "k"}) {
        const RecordedStage* stage = evidence.attention.find(name);
        if (stage == nullptr) continue;
        if (stage->op == "given" && (stage->called == "sum" || stage->called == "mean" || stage->called == "relu")) return true;
        const NamedArray* weight =
            stage->parameters.empty() ? nullptr : evidence.step.find(std::string(kParameters) + stage->parameters[0]);
        if (weight != nullptr && weight->shape.size() > 2) return true;  // a convolution
    }
    return false;
}

/// Do other attentions of the same class add positions to their scores? T5's cross-attention has neither these nor a scale.
bool has_biased_siblings(const Evidence& evidence) {
    return std::any_of(evidence.graph.attentions.begin(), evidence.graph.attentions.end(), [&](const RecordedAttention& each) {
        if (evidence.attention.class_name.empty() || each.class_name != evidence.attention.class_name) return false;
        const Evidence sibling{evidence.graph, each, evidence.step, evidence.found};
        return sibling.with_op("bias") != nullptr || adds_bias(sibling);
    });
}

/// Do other layers divide by another number, as where each layer divides by its own number as well?
bool scales_by_layer(const Evidence& evidence) {
    const RecordedAttention& own = evidence.attention;
    return std::any_of(evidence.graph.attentions.begin(), evidence.graph.attentions.end(), [&](const RecordedAttention& each) {
        const bool is_same_code = own.class_name.empty() ? each.source == own.source : each.class_name == own.class_name;
        return is_same_code && each.size('D') == own.size('D') && each.scale && !is_about(*each.scale, *own.scale);
    });
}

void look_at_scale(const Evidence& evidence) {
    if (!asks_for_scale(evidence)) return;
    const RecordedAttention& attention = evidence.attention;
    const auto width = static_cast<double>(attention.size('D'));
    const double scale = *attention.scale, root = std::sqrt(width);
    const RecordedStage* scaled = evidence.with_op("scale");
    // Masks are read only where there is something to say.
    const auto say = [&](const char* bug, const RecordedStage* stage, std::string text) {
        if (adds_bias(evidence)) return;
        const bool may_be_meant = attention.of_library || has_other_operands(evidence) || has_biased_siblings(evidence);
        evidence.add(may_be_meant ? Gravity::Unusual : Gravity::Wrong, bug, stage, std::move(text));
    };
    if (width > 2 && is_about(scale, 1))
        return say("no_scale", attention.find("scores"),
                   fmt::format("The scores are not divided by √{} = {:.3g}: the larger they are, the more the weights concentrate "
                               "on one key.",
                               width, root));
    if (attention.of_library || width < 2 || scales_by_layer(evidence)) return;
    if (is_about(scale, 1 / width))
        return say("scaled_twice", scaled,
                   fmt::format("The scores are divided by {}, which is √{} twice: the weights come out more equal than they should.", width,
                               width));
    if (is_about(scale, 1 / (2 * width)))
        return say(
            "scaled_twice", scaled,
            fmt::format("The scores are divided by {}, and not by √{}: d ** 1 / 2 is half of d, d ** 0.5 its root.", 2 * width, width));
    if (width > 2 && is_about(scale, root))
        return say("other", scaled, fmt::format("The scores are multiplied by √{} = {:.3g}; they must be divided by it.", width, root));
    const auto heads = static_cast<double>(attention.size('H'));
    for (const auto& [count, what] : {std::pair(attention.size('T'), "positions"), std::pair(attention.size('H'), "heads")})
        if (count > 1 && is_about(scale, 1 / std::sqrt(static_cast<double>(count))) && !is_about(scale, 1 / root))
            return say("other", scaled,
                       fmt::format("The scores are divided by √{}, the number of {}; a head is {} wide.", count, what, width));
    if (attention.heads_known && heads > 1 && is_about(scale, 1 / std::sqrt(heads * width)))
        say("scale_d_model", scaled,
            fmt::format("The scores are divided by √{}, the width of the model; a head has {}.", heads * width, width));
}

void look_at_softmax(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    std::vector<const RecordedStage*> softmaxes;
    for (const RecordedStage& stage : attention.stages)
        if (stage.op == "softmax") softmaxes.push_back(&stage);
    if (softmaxes.empty()) return;
    if (softmaxes.size() > 1)
        evidence.add(Gravity::Wrong, "softmax_twice", softmaxes.back(),
                     "A second softmax follows the first: it makes the weights nearly equal.");
    const char over = softmaxes.front()->over;
    if (over == 'S') return;
    if (over == '1')
        return evidence.add(Gravity::Wrong, "other", softmaxes.front(), "The softmax runs over an axis of size 1: all that it gives is 1.");
    const std::optional<Numbers> weights = evidence.numbers(attention.find("weights"));
    if (!weights || rows_sum_to_one(*weights)) return;  // divided by a sum over the keys afterwards
    const bool queries = over == 'T';
    const bool may_be_routing = over == 'B' && attention.size('T') == 1;
    evidence.add(may_be_routing ? Gravity::Unusual : Gravity::Wrong,
                 queries       ? "softmax_over_queries"
                 : over == 'B' ? "softmax_over_batch"
                               : "softmax_over_heads",
                 softmaxes.front(),
                 fmt::format("The softmax runs over the {}, but v is summed over the keys: rows of the weights do not sum to 1{}.",
                             queries       ? "queries"
                             : over == 'H' ? "heads"
                             : over == 'B' ? "batch"
                                           : "wrong axis",
                             queries ? ". Either the softmax has the wrong axis, or the weights are transposed before they meet v" : ""));
}

/// A query and a key of the same token have to be turned alike.
void look_at_rotation(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    const RecordedStage *q = attention.find("q_rotated"), *k = attention.find("k_rotated");
    if (attention.cross || attention.size('T') != attention.size('S')) return;
    if ((q == nullptr) != (k == nullptr)) {
        const RecordedStage* const other = attention.find(q == nullptr ? "q" : "k");
        if (other != nullptr && other->op == "linear" && !attention.of_library && attention.size('T') > 1)
            evidence.add(Gravity::Wrong, "position_offset", other,
                         fmt::format("The {} are rotated by their positions, and the {} are not.", q == nullptr ? "keys" : "queries",
                                     q == nullptr ? "queries" : "keys"));
        return;
    }
    if (q == nullptr) return;
    const auto turns = [&](std::string_view name) {
        return std::count_if(attention.stages.begin(), attention.stages.end(),
                             [&](const RecordedStage& each) { return each.name.starts_with(name) && each.op == "rotate"; });
    };
    if (const auto of_queries = turns("q_rotated"), of_keys = turns("k_rotated"); of_queries != of_keys && !attention.of_library)
        return evidence.add(Gravity::Wrong, "position_offset", of_queries < of_keys ? k : q,
                            fmt::format("Rotations before the scores: {} of the queries, {} of the keys.", of_queries, of_keys));
    const auto numbers = [&](const RecordedStage& stage) {
        return std::pair(evidence.numbers(stage.inputs.empty() ? nullptr : attention.find(stage.inputs.front())), evidence.numbers(&stage));
    };
    const auto [q_before, q_after] = numbers(*q);
    const auto [k_before, k_after] = numbers(*k);
    if (!q_before || !q_after || !k_before || !k_after) return;
    KnownRotation of_queries, of_keys;
    const bool keys_are_known = of_keys.keep(*k_before, *k_after), queries_are_known = of_queries.keep(*q_before, *q_after);
    if (!keys_are_known && !queries_are_known) return;
    if (keys_are_known && queries_are_known && of_keys.form()->neighbours != of_queries.form()->neighbours && of_keys.form()->size > 2)
        return evidence.add(Gravity::Wrong, "position_offset", q,
                            fmt::format("The rotation of the {} turns pairs of neighbours, that of the {} pairs from both halves.",
                                        of_keys.form()->neighbours ? "keys" : "queries", of_keys.form()->neighbours ? "queries" : "keys"));
    const RotationForm& form = keys_are_known ? *of_keys.form() : *of_queries.form();
    for (const std::int64_t position : {std::int64_t{0}, attention.size('T') - 1}) {
        const std::optional<double> of_q = turn_at(position, *q_before, *q_after, form),
                                    of_k = turn_at(position, *k_before, *k_after, form);
        constexpr double kOtherPosition = 0.05;
        if (of_q && of_k && std::abs(std::remainder(*of_q - *of_k, 2 * std::numbers::pi)) > kOtherPosition)
            return evidence.add(Gravity::Wrong, "position_offset", q,
                                "The query and the key of one token are rotated as if they stood at different positions.");
    }
}

void look_at_dropout(const Evidence& evidence) {
    const RecordedStage* stage = evidence.with_op("dropout");
    if (stage == nullptr || !(stage->rate > 0) || !evidence.attention.training) return;
    if (*evidence.attention.training)
        return evidence.add(Gravity::WorthKnowing, "", stage,
                            fmt::format("Dropout of {:g}: in training, rows sum to 1 on average only.", stage->rate));
    evidence.add(evidence.attention.of_library ? Gravity::Unusual : Gravity::Wrong, "dropout_left_on", stage,
                 fmt::format("Dropout of {:g} in evaluation: F.dropout needs training=self.training.", stage->rate));
}

/// "q", "k" or "v" from the name of a parameter such as "layers.0.q_proj.weight"; 0 if it tells none or several.
char role_of(const std::string& parameter) {
    std::string name = parameter.substr(0, parameter.rfind('.'));
    name = name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::array<std::pair<char, std::array<std::string_view, 8>>, 3> kNames{
        {{'q', {"q", "query", "queries", "to_q", "wq", "w_q", "q_proj", "w_query"}},
         {'k', {"k", "key", "keys", "to_k", "wk", "w_k", "k_proj", "w_key"}},
         {'v', {"v", "value", "values", "to_v", "wv", "w_v", "v_proj", "w_value"}}}};
    for (const auto& [role, names] : kNames)
        if (std::find(names.begin(), names.end(), name) != names.end()) return role;
    return 0;
}

void look_at_roles(const Evidence& evidence) {
    std::string roles;
    for (const std::string_view name : {"q", "k", "v"}) {
        const RecordedStage* stage = evidence.attention.find(name);
        if (stage == nullptr || stage->op != "linear" || stage->parameters.empty()) return;
        roles += role_of(stage->parameters[0]);
    }
    const std::string of_keys = escaped(evidence.attention.find("k")->parameters[0]);
    if (roles == "qvk")
        evidence.add(Gravity::Wrong, "kv_swapped", evidence.attention.find("k"),
                     "The keys come from " + of_keys + ", and the values from the keys' map.");
    const RecordedStage* softmax = evidence.with_op("softmax");
    const bool weights_are_transposed = softmax != nullptr && softmax->over == 'T';
    if (roles == "kqv" && !weights_are_transposed)
        evidence.add(Gravity::Wrong, "qk_swapped", evidence.attention.find("k"),
                     "The keys come from " + of_keys + ", and the queries from the keys' map.");
}

/// Two of q, k and v that are one: a mistake if a map that bears the name of one of them was never used.
void look_at_same_operands(const Evidence& evidence) {
    std::string unused;
    for (const Fact& fact : evidence.attention.facts)
        if ((fact.what == "unused_parameter" || fact.what == "unused_result") && role_of(fact.name) != 0 && unused.empty())
            unused = fact.name.substr(0, fact.name.rfind('.'));
    for (const auto& [one, other] : {std::pair("q", "k"), std::pair("k", "v"), std::pair("q", "v")}) {
        const RecordedStage *a = evidence.attention.find(one), *b = evidence.attention.find(other);
        if (a == nullptr || b == nullptr || a->op != "linear" || b->op != "linear" || a->parameters != b->parameters) continue;
        const std::optional<Numbers> left = evidence.numbers(a), right = evidence.numbers(b);
        if (!left || !right || left->shape != right->shape || left->values != right->values) continue;
        const bool forgotten = !unused.empty() && !evidence.attention.of_library;
        evidence.add(forgotten ? Gravity::Wrong : Gravity::WorthKnowing, forgotten ? "same_operands" : "", b,
                     fmt::format("{} and {} are the same numbers{}.", one, other,
                                 forgotten ? fmt::format("; {} was never used", escaped(unused)) : ", from one map"));
    }
}

/// A module's weight and bias are one finding.
void look_at_unused(const Evidence& evidence) {
    if (evidence.attention.of_library) return;
    std::vector<std::string> modules;
    for (const Fact& fact : evidence.attention.facts) {
        if (fact.what != "unused_parameter") continue;
        const std::string own = fact.name.substr(fact.name.rfind('.') + 1);
        const bool is_usual = own.starts_with("weight") || own.starts_with("bias") || own.starts_with("in_proj");
        const std::string module = is_usual ? fact.name.substr(0, fact.name.rfind('.')) : fact.name;
        if (std::find(modules.begin(), modules.end(), module) != modules.end()) continue;
        modules.push_back(module);
        evidence.add(Gravity::Wrong, "unused_parameter", nullptr,
                     fmt::format("{} belongs to what ran, but nothing used {}.", escaped(module), is_usual ? "its parameters" : "it"));
    }
}

void look_at_targets(const Evidence& evidence) {
    if (evidence.attention.cross || evidence.attention.has_fact("memory")) return;  // an encoder may see all of its text
    for (const Fact& fact : evidence.graph.facts) {
        if (fact.what != "targets" || fact.are == "inputs") continue;
        const std::optional<Numbers> weights = evidence.numbers(evidence.attention.find("weights"));
        if (weights && fact.are == "next inputs" && has_weight_ahead(*weights))
            return evidence.add(Gravity::Wrong, "mask_missing", evidence.attention.find("weights"),
                                "Each position is asked for the next word, and can see it: there is no causal mask.");
        if (weights && fact.are == "previous inputs" && has_weight_behind(*weights))
            return evidence.add(Gravity::Wrong, "copies", evidence.attention.find("weights"),
                                "Each position is asked for the word before it, and can see it: the targets are shifted the wrong way.");
    }
}

void look_at_checks(const Evidence& evidence, const std::vector<StageCheck>& checks) {
    for (const StageCheck& check : checks)
        if (check.outcome == Outcome::Differs)
            evidence.add(Gravity::Unusual, "other", evidence.attention.find(check.stage),
                         fmt::format("{}[{}] is {:.6g}; from the stages before it follows {:.6g}.", check.stage, fmt::join(check.cell, ","),
                                     check.recorded, check.expected));
}

}  // namespace

std::string_view gravity_name(Gravity gravity) { return kGravities[static_cast<std::size_t>(gravity)]; }

std::vector<CodeFinding> findings_in(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStep& step,
                                     const std::vector<StageCheck>& checks) {
    std::vector<CodeFinding> found;
    const Evidence evidence{graph, attention, step, found};
    look_at_scale(evidence);
    look_at_softmax(evidence);
    look_after_softmax(evidence);
    look_at_masks(evidence);
    look_at_rotation(evidence);
    look_at_roles(evidence);
    look_at_same_operands(evidence);
    look_at_dropout(evidence);
    if (const RecordedStage* rotated = attention.find("v_rotated"))
        evidence.add(Gravity::Unusual, "rope_on_values", rotated,
                     "The values are rotated by their position, as only queries and keys are.");
    look_at_facts(evidence);
    look_at_unused(evidence);
    look_at_targets(evidence);
    look_at_checks(evidence, checks);
    std::stable_sort(found.begin(), found.end(), [](const CodeFinding& a, const CodeFinding& b) { return a.gravity < b.gravity; });
    return found;
}

}  // namespace attn::recording
