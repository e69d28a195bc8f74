#include "engine/recording/code_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/recording/follower.hpp"
#include "engine/recording/known_rotation.hpp"
#include "engine/recording/numbers.hpp"
#include "engine/recording/seen_cells.hpp"

namespace attn::recording {
namespace {

constexpr std::array<std::string_view, 3> kGravities{"wrong", "unusual", "worth knowing"};

/// What the rules look at.
struct Evidence {
    const RecordedGraph& graph;
    const RecordedAttention& attention;
    const RecordedStep& step;
    std::vector<CodeFinding>& found;

    void add(Gravity gravity, std::string bug, const RecordedStage* stage, std::string text) const {
        found.push_back({gravity, std::move(bug), stage == nullptr ? "" : stage->name,
                         stage == nullptr || stage->line.empty() ? attention.source : stage->line, std::move(text)});
    }
    /// The first stage of that operation; null if there is none.
    const RecordedStage* with_op(std::string_view op) const {
        for (const RecordedStage& stage : attention.stages)
            if (stage.op == op) return &stage;
        return nullptr;
    }
    /// The axes of the tensor that a stage masks with; "" if it is not known.
    std::string mask_axes(const RecordedStage& stage) const {
        for (const RecordedStage& each : graph.around)
            if (!stage.mask.empty() && each.name == stage.mask) return each.axes;
        return "";
    }
    /// Its numbers; nothing if they were not recorded, are too many, or have unknown axes. Inside of a fused kernel they follow from the
    /// queries and keys.
    std::optional<Numbers> numbers(const RecordedStage* stage) const {
        const NamedArray* header = stage == nullptr ? nullptr : step.find(full_name(attention, *stage));
        if (header == nullptr && stage != nullptr && stage->have == Have::Follows) return followed(*stage);
        if (header == nullptr || header->shape.size() != stage->axes.size() || count_of(*header) > kMostNumbers) return {};
        if (count_of(*header) == 0) return {};
        return numbers_of(step.read(header->name), stage->axes, step.source());
    }

private:
    std::optional<Numbers> followed(const RecordedStage& stage) const {
        constexpr std::int64_t kMostFollowed = std::int64_t{1} << 20;
        const std::int64_t rows = attention.size('B') * attention.size('H') * attention.size('T');
        if (rows <= 0 || rows > kMostFollowed / std::max<std::int64_t>(1, attention.size('S'))) return {};
        const FindParameter of_this_step = [this](const std::string& name) {
            const std::string full = std::string(kParameters) + name;
            return step.find(full) == nullptr ? std::nullopt : std::optional(step.read(full));
        };
        try {
            return Follower(graph, attention, step, of_this_step).computed(stage);
        } catch (const NotComputed&) {
            return {};
        }
    }
};

bool is_about(double value, double expected) { return std::abs(value - expected) <= 1e-4 * std::abs(expected); }

/// Scores that are no plain product have no scale to ask for.
bool asks_for_scale(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    const RecordedStage* scores = attention.find("scores");
    return attention.scale && scores != nullptr && scores->op == "product" && evidence.with_op("bias") == nullptr &&
           attention.find("q_normed") == nullptr && attention.find("k_normed") == nullptr && evidence.with_op("add") == nullptr;
}

void look_at_scale(const Evidence& evidence) {
    if (!asks_for_scale(evidence)) return;
    const RecordedAttention& attention = evidence.attention;
    const auto width = static_cast<double>(attention.size('D'));
    const double scale = *attention.scale, root = std::sqrt(width);
    const RecordedStage* scaled = evidence.with_op("scale");
    const Gravity gravity = attention.of_library ? Gravity::Unusual : Gravity::Wrong;
    if (width > 2 && is_about(scale, 1))
        return evidence.add(
            gravity, "no_scale", attention.find("scores"),
            fmt::format("The scores are not divided by √{} = {:.3g}: rows of the weights concentrate on one key.", width, root));
    if (attention.of_library || width < 2) return;
    if (is_about(scale, 1 / width))
        return evidence.add(
            gravity, "scaled_twice", scaled,
            fmt::format("The scores are divided by {}, which is √{} twice: the weights come out nearly equal.", width, width));
    const auto heads = static_cast<double>(attention.size('H'));
    if (attention.heads_known && heads > 1 && is_about(scale, 1 / std::sqrt(heads * width)))
        evidence.add(gravity, "scale_d_model", scaled,
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
    const std::optional<Numbers> weights = evidence.numbers(attention.find("weights"));
    if (!weights || rows_sum_to_one(*weights)) return;  // divided by a sum over the keys afterwards
    const bool queries = over == 'T';
    evidence.add(Gravity::Wrong,
                 queries       ? "softmax_over_queries"
                 : over == 'B' ? "softmax_over_batch"
                               : "softmax_over_heads",
                 softmaxes.front(),
                 fmt::format("The softmax runs over the {}, but v is summed over the keys: rows of the weights do not sum to 1.",
                             queries       ? "queries"
                             : over == 'H' ? "heads"
                             : over == 'B' ? "batch"
                                           : "wrong axis"));
}

void look_after_softmax(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    bool after = false, dropped = false;
    for (const RecordedStage& stage : attention.stages) {
        if (stage.op == "mask" && dropped) {
            // What is made of the weights themselves, or divided by a new sum afterwards, is no mistake: then heads lose different cells,
            // or something comes between the mask and the context.
            const std::string axes = evidence.mask_axes(stage);
            const RecordedStage* context = attention.find("context");
            const bool is_last = context != nullptr && !context->inputs.empty() && context->inputs.front() == stage.name;
            if (!is_last || axes.empty() || axes.find('H') != std::string::npos) return;
            const RecordedStage* input = stage.inputs.empty() ? nullptr : attention.find(stage.inputs.front());
            const std::optional<Numbers> before = evidence.numbers(input), left = evidence.numbers(&stage);
            if (before && left && lost_part_of_a_row(*before, *left))
                evidence.add(Gravity::Wrong, "mask_after_softmax", &stage,
                             "The mask comes after the softmax and its dropout: what it takes away is missing in the sums of the rows.");
            return;
        }
        if (stage.op == "mask" && after) {
            const std::optional<Numbers> weights = evidence.numbers(attention.find("weights"));
            const std::optional<std::pair<double, double>> sums = weights ? sums_of_rows(*weights) : std::nullopt;
            if (!sums || sums->first > 1 - 1e-3) return;
            return evidence.add(Gravity::Wrong, "mask_after_softmax", &stage,
                                fmt::format("The mask comes after the softmax: rows sum to {:.2f} to {:.2f}.", sums->first, sums->second));
        }
        after = after || stage.op == "softmax";
        dropped = dropped || (after && stage.op == "dropout");
    }
}

void look_at_heads(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    if (attention.has_fact("heads_split_without_transpose"))
        evidence.add(
            Gravity::Wrong, "heads_split_without_transpose", attention.find("q"),
            "The heads are cut by a reshape alone, which cuts positions instead of channels: reshape to B, T, H, D first, then transpose.");
    if (attention.has_fact("heads_joined_without_transpose"))
        evidence.add(Gravity::Wrong, "heads_joined_without_transpose", attention.find("concat"),
                     "The heads are joined by a reshape alone: each row holds one head's positions. Transpose to B, T, H, D first.");
}

/// A mask that is added and hides nothing is a bias to the graph.
void look_at_sign(const Evidence& evidence) {
    constexpr double kNoScore = 1000;
    for (const RecordedStage& stage : evidence.attention.stages) {
        if (stage.op == "mask" && stage.fill >= kNoScore)
            evidence.add(Gravity::Wrong, "mask_sign", &stage,
                         fmt::format("The mask puts {:.4g} where it must put a large negative number.", stage.fill));
        if ((stage.op != "mask" && stage.op != "bias") || stage.mask.empty()) continue;
        const NamedArray* mask = evidence.step.find(stage.mask);
        if (mask == nullptr || mask->dtype == DType::Bool || count_of(*mask) > kMostNumbers) continue;
        const std::vector<double> cells = values_as<double>(evidence.step.read(stage.mask), evidence.step.source());
        const double most = cells.empty() ? 0 : *std::max_element(cells.begin(), cells.end());
        if (most >= kNoScore)
            evidence.add(Gravity::Wrong, "mask_sign", &stage, fmt::format("The mask adds {:.4g} where it must subtract.", most));
    }
}

void look_at_mask(const Evidence& evidence) {
    const RecordedStage* stage = evidence.with_op("mask");
    // Queries and keys of two texts have orders of their own.
    if (stage == nullptr || evidence.attention.cross) return;
    const RecordedStage* masked = evidence.attention.find("masked");
    const std::optional<Numbers> numbers = evidence.numbers(masked);
    if (!numbers) return;
    switch (pattern_of(*numbers)) {
    case Seen::OneAhead:
        return evidence.add(Gravity::Wrong, "causal_leaks_one", stage, "Every position sees the next one: the causal mask is off by one.");
    case Seen::NotItself:
        return evidence.add(Gravity::Wrong, "causal_masks_self", stage,
                            "No position sees itself, and the first sees nothing: the causal mask is off by one.");
    case Seen::OnlyAhead:
        return evidence.add(Gravity::Wrong, "inverted_mask", stage,
                            "Every position sees only itself and what follows: the mask is the wrong way round.");
    case Seen::FromTheFirstKey: {
        const RecordedStage* k = evidence.attention.find("k");
        const std::optional<Numbers> keys = evidence.numbers(k);
        if (k == nullptr || k->op != "linear") return;                        // a cache, of which the rest may be left from before
        if (keys && later_keys_are_equal(*keys, numbers->size('T'))) return;  // a cache of which the rest has not been written
        return evidence.add(
            Gravity::Wrong, "causal_offset", stage,
            fmt::format("There are {} keys for {} queries, but the mask starts at the first key.", numbers->size('S'), numbers->size('T')));
    }
    case Seen::Other:
        return;
    }
}

/// What each position of each text was looked up in tables, of words, segments and others: [B,T,C]. Nothing if nothing was.
std::optional<Numbers> looked_up(const Evidence& evidence) {
    std::optional<Numbers> all;
    for (const RecordedStage& each : evidence.graph.around) {
        const NamedArray* header = each.op == "embedding" && each.axes == "BTC" ? evidence.step.find(each.name) : nullptr;
        if (header == nullptr || header->shape.size() != 3 || count_of(*header) > kMostNumbers || count_of(*header) == 0) continue;
        Numbers more = numbers_of(evidence.step.read(header->name), each.axes, evidence.step.source());
        if (!all) {
            all = std::move(more);
            continue;
        }
        if (more.shape[0] != all->shape[0] || more.shape[1] != all->shape[1]) return {};
        const std::int64_t width = all->shape[2], wider = width + more.shape[2];
        Numbers both{"BTC", {all->shape[0], all->shape[1], wider}, {}, {}, 0};
        for (std::int64_t row = 0; row < all->shape[0] * all->shape[1]; ++row) {
            const auto copy = [&](const Numbers& from) {
                const auto begin = from.values.begin() + row * from.shape[2];
                both.values.insert(both.values.end(), begin, begin + from.shape[2]);
            };
            copy(*all);
            copy(more);
        }
        all = std::move(both);
    }
    return all;
}

/// A mask over keys alone that shows what is padding, and hides the words.
void look_at_padding(const Evidence& evidence) {
    const RecordedStage* stage = evidence.with_op("mask");
    if (stage == nullptr || evidence.attention.cross) return;
    const std::optional<Numbers> masked = evidence.numbers(evidence.attention.find("masked"));
    const std::optional<Numbers> words = masked ? looked_up(evidence) : std::nullopt;
    if (words && sees_copies_only(*masked, *words))
        evidence.add(Gravity::Wrong, "inverted_mask", stage,
                     "The mask hides all words, and shows only copies of one word, which is the padding: it is the wrong way round.");
}

/// A mask that has no axis of keys hides whole rows: what is padding is still attended to.
void look_at_padded_queries(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    if (attention.cross || attention.size('T') != attention.size('S')) return;
    const RecordedStage* found = nullptr;
    for (const RecordedStage& stage : attention.stages) {
        if (stage.op != "mask") continue;
        const std::string axes = evidence.mask_axes(stage);
        if (axes.empty() || axes.find('S') != std::string::npos) return;
        if (axes.find('B') != std::string::npos && axes.find('T') != std::string::npos) found = &stage;
    }
    const std::optional<Numbers> masked = found == nullptr ? std::nullopt : evidence.numbers(found);
    if (masked && row_without_keys(*masked))
        evidence.add(Gravity::Wrong, "padding_on_queries", found,
                     "The mask hides whole queries, and no key: what is padding is still attended to by the others.");
}

/// What is added to the scores is told by the scores before and after, with the sign that it has there.
void look_at_bias(const Evidence& evidence) {
    const RecordedStage *bias = evidence.with_op("bias"), *mask = evidence.with_op("mask");
    if (bias == nullptr || mask == nullptr || bias->inputs.empty()) return;
    for (const RecordedStage& stage : evidence.attention.stages)
        if (stage.op == "given" || (stage.op == "scale" && &stage > bias)) return;
    std::optional<Numbers> after = evidence.numbers(bias);
    const std::optional<Numbers> before = evidence.numbers(evidence.attention.find(bias->inputs.front()));
    if (!after || !before || after->axes != before->axes || after->shape != before->shape) return;
    for (std::size_t i = 0; i < after->values.size(); ++i) {
        after->slack[i] = after->eps * (std::abs(after->values[i]) + std::abs(before->values[i]));
        after->values[i] -= before->values[i];
    }
    if (favours_far_keys(*after))
        evidence.add(Gravity::Wrong, "alibi_sign", bias, "The bias grows with the distance: it favours the keys that are farthest away.");
}

/// A query and a key of the same token have to be turned alike.
void look_at_rotation(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    const RecordedStage *q = attention.find("q_rotated"), *k = attention.find("k_rotated");
    if (q == nullptr || k == nullptr || attention.cross || attention.size('T') != attention.size('S')) return;
    const auto numbers = [&](const RecordedStage& stage) {
        return std::pair(evidence.numbers(stage.inputs.empty() ? nullptr : attention.find(stage.inputs.front())), evidence.numbers(&stage));
    };
    const auto [q_before, q_after] = numbers(*q);
    const auto [k_before, k_after] = numbers(*k);
    if (!q_before || !q_after || !k_before || !k_after) return;
    KnownRotation of_one;
    const bool known = of_one.keep(*k_before, *k_after) || of_one.keep(*q_before, *q_after);
    const std::optional<double> of_q = known ? first_turn(*q_before, *q_after, *of_one.form()) : std::nullopt;
    const std::optional<double> of_k = known ? first_turn(*k_before, *k_after, *of_one.form()) : std::nullopt;
    constexpr double kOtherPosition = 0.05;
    if (of_q && of_k && std::abs(std::remainder(*of_q - *of_k, 2 * std::numbers::pi)) > kOtherPosition)
        evidence.add(Gravity::Wrong, "position_offset", q,
                     "The query and the key of one token are rotated as if they stood at different positions.");
}

/// What becomes of a query without a key depends on the mask's number and on the library.
void look_at_empty_rows(const Evidence& evidence) {
    const RecordedStage *stage = evidence.with_op("mask"), *softmax = evidence.with_op("softmax");
    const std::optional<Numbers> masked = evidence.numbers(evidence.attention.find("masked"));
    const std::optional<MapRow> row = masked ? row_without_keys(*masked) : std::nullopt;
    const std::optional<Numbers> weights = row && softmax != nullptr ? evidence.numbers(softmax) : std::nullopt;
    if (!weights || weights->axes != masked->axes || weights->shape != masked->shape) return;
    const std::int64_t map = row->text * masked->size('H') + row->head;
    const auto first = static_cast<std::size_t>((map * masked->size('T') + row->query) * masked->size('S'));
    const double weight = weights->values[first];
    evidence.add(Gravity::WorthKnowing, "", stage,
                 fmt::format("Query {} of text {} sees no key, and its weights are {}.", row->query, row->text,
                             std::isnan(weight) ? "NaN"
                             : weight == 0      ? "0"
                                                : "spread over all keys"));
}

/// A cap behind the mask gives hidden keys a finite score again.
void look_at_cap(const Evidence& evidence) {
    const auto place = [&](const RecordedStage* stage) { return stage - evidence.attention.stages.data(); };
    const RecordedStage *cap = evidence.with_op("cap"), *mask = evidence.with_op("mask"), *scale = evidence.with_op("scale");
    if (cap == nullptr) return;
    if (scale != nullptr && place(cap) < place(scale))
        evidence.add(Gravity::Unusual, "softcap_before_scale", cap, "The scores are capped before they are scaled; Gemma 2 scales first.");
    if (mask == nullptr || place(cap) < place(mask)) return;
    const std::optional<Numbers> masked = evidence.numbers(mask), weights = evidence.numbers(evidence.attention.find("weights"));
    if (!masked || !weights || masked->shape != weights->shape) return;
    for (std::size_t i = 0; i < masked->values.size(); ++i)
        if (masked->values[i] < kHidden && weights->values[i] > 0)
            return evidence.add(Gravity::Wrong, "softcap_after_mask", cap,
                                "The cap comes after the mask: keys that it hides have a weight again.");
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
    if (roles == "kqv")
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

void look_at_facts(const Evidence& evidence) {
    const RecordedAttention& attention = evidence.attention;
    for (const Fact& fact : attention.facts) {
        if (fact.what == "no_residual" && !attention.of_library)
            evidence.add(Gravity::Wrong, "no_residual", nullptr,
                         fmt::format("{} replaces its input: nothing adds it back after the attention.", escaped(fact.class_name)));
        if (fact.what == "gqa_tiled")
            evidence.add(
                Gravity::Unusual, "gqa_tiled", attention.find("k"),
                "Shared keys and values are tiled, so that neighbouring heads use different ones; models such as Llama repeat each "
                "for neighbouring heads.");
        if (fact.what == "sink")
            evidence.add(Gravity::WorthKnowing, "", attention.find("weights"),
                         "Part of each row goes to a sink: the weights of the keys sum to less than 1.");
    }
}

/// A module's weight and bias are one finding.
void look_at_unused(const Evidence& evidence) {
    if (evidence.attention.of_library) return;
    std::vector<std::string> modules;
    for (const Fact& fact : evidence.attention.facts) {
        if (fact.what != "unused_parameter") continue;
        const std::string module = fact.name.substr(0, fact.name.rfind('.'));
        if (std::find(modules.begin(), modules.end(), module) != modules.end()) continue;
        modules.push_back(module);
        evidence.add(Gravity::Wrong, "unused_parameter", nullptr,
                     fmt::format("{} belongs to what ran, but nothing used its parameters.", escaped(module)));
    }
}

void look_at_targets(const Evidence& evidence) {
    if (evidence.attention.cross) return;
    for (const Fact& fact : evidence.graph.facts) {
        if (fact.what != "targets" || fact.are != "next inputs") continue;
        const std::optional<Numbers> weights = evidence.numbers(evidence.attention.find("weights"));
        if (weights && has_weight_ahead(*weights))
            return evidence.add(Gravity::Wrong, "mask_missing", evidence.attention.find("weights"),
                                "Each position is asked for the next word, and can see it: there is no causal mask.");
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
    look_at_heads(evidence);
    look_at_sign(evidence);
    look_at_mask(evidence);
    look_at_padding(evidence);
    look_at_padded_queries(evidence);
    look_at_empty_rows(evidence);
    look_at_bias(evidence);
    look_at_rotation(evidence);
    look_at_roles(evidence);
    look_at_same_operands(evidence);
    look_at_dropout(evidence);
    look_at_cap(evidence);
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

std::vector<CodeFinding> findings_around(const RecordedGraph& graph) {
    std::vector<CodeFinding> found;
    for (const Fact& fact : graph.facts) {
        if (fact.what == "unused_parameter")
            found.push_back({Gravity::Unusual, "unused_parameter", "", fact.line, fmt::format("Nothing used {}.", escaped(fact.name))});
        if (fact.what == "weights_unused")
            found.push_back({Gravity::Unusual, "weights_unused", "", fact.line, "The result of this softmax reaches nothing."});
        if (fact.what == "targets" && fact.are == "inputs")
            found.push_back(
                {Gravity::Unusual, "copies", "", fact.line, "The targets are the inputs at the same places: the answer is in the input."});
    }
    return found;
}

}  // namespace attn::recording
