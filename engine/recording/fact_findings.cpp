#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "engine/io/file_error.hpp"
#include "engine/recording/code_findings.hpp"
#include "engine/recording/finding_evidence.hpp"

namespace attn::recording {
namespace {

/// What attnscope.py saw in the code, and what is said of it.
struct FactRule {
    std::string_view what;
    Gravity gravity;
    std::string_view bug;
    std::string_view stage;     ///< the one it concerns; "NAME": the fact's own
    std::string_view sentence;  ///< with {name}, {other}, {class}, {are} of the fact, {B} and {T} of the attention
    bool of_libraries = true;   ///< whether it is said of an installed library's code, too
};

constexpr FactRule kOfAttentions[] = {
    {"heads_split_without_transpose", Gravity::Wrong, "heads_split_without_transpose", "NAME",
     "The heads of {name} are cut by a reshape alone, which cuts positions instead of channels: reshape to B, T, H, D first, then "
     "transpose."},
    {"keys_not_transposed", Gravity::Wrong, "other", "scores",
     "The scores sum over the positions of the keys instead of their channels: k has to be transposed."},
    {"keys_reshaped", Gravity::Wrong, "other", "k",
     "The keys are reshaped where they have to be transposed: that swaps the lengths of two axes, but not the axes."},
    {"heads_joined_without_transpose", Gravity::Wrong, "heads_joined_without_transpose", "concat",
     "The heads are joined by a reshape alone: each row holds one head's positions. Transpose to B, T, H, D first."},
    {"values_of_queries", Gravity::Wrong, "other", "v",
     "The values come from where the queries come from, and the keys from elsewhere: the weights belong to other positions.", false},
    {"added_to_memory", Gravity::Wrong, "qk_swapped", "q",
     "The result is added to what keys and values come from: the queries come from the wrong side.", false},
    {"positions_of_texts", Gravity::Wrong, "softmax_over_batch", "",
     "The attention takes the axis of {B} for texts and runs over that of {T}, but positions were added along the former: transpose, or "
     "give batch_first=True to PyTorch's modules."},
    {"rotated_by", Gravity::Wrong, "position_offset", "q_rotated",
     "Queries and keys are rotated by the number of their {name}, and not by their position.", false},
    {"feed_forward_replaces", Gravity::Unusual, "no_residual", "",
     "In {class}, the attention's input is added to its result, but that of the feed-forward network is not.", false},
    {"no_residual", Gravity::Wrong, "no_residual", "", "{class} replaces its input: nothing adds it back after the attention.", false},
    {"gqa_tiled", Gravity::Unusual, "gqa_tiled", "k",
     "Shared keys and values are tiled, so that neighbouring heads use different ones; models such as Llama repeat each for neighbouring "
     "heads."},
    {"gqa_mismatch", Gravity::Wrong, "gqa_tiled", "NAME",
     "The heads of {name} are tiled, and those of {other} repeated for neighbours: heads get keys and values of different groups."},
    {"same_heads", Gravity::Wrong, "same_operands", "q",
     "All heads are one module, and compute the same numbers: [Head()] * n holds one head n times."},
    {"sink", Gravity::WorthKnowing, "", "weights", "Part of each row goes to a sink: the weights of the keys sum to less than 1."},
};

constexpr FactRule kAround[] = {
    {"unused_parameter", Gravity::Unusual, "unused_parameter", "", "Nothing used {name}."},
    {"dropout_left_on", Gravity::Wrong, "dropout_left_on", "", "Dropout of {name} in evaluation: F.dropout needs training=self.training."},
    {"positions_of_words", Gravity::Wrong, "no_positions", "", "{name} is looked up by the numbers of the words, not of their positions."},
    {"one_position", Gravity::Wrong, "no_positions", "", "All positions get row {are} of {name}: nothing tells them apart."},
    {"logits_reshaped", Gravity::Wrong, "other", "",
     "The logits are reshaped where they have to be transposed: each target meets those of another position."},
    {"softmax_before_loss", Gravity::Wrong, "softmax_twice", "",
     "The loss takes logits, but gets the result of a softmax: it makes a second one of it."},
    {"weights_unused", Gravity::Unusual, "weights_unused", "", "The result of this softmax reaches nothing."},
    {"targets: inputs", Gravity::Unusual, "copies", "", "The targets are the inputs at the same places: the answer is in the input."},
};

const FactRule* rule_of(std::span<const FactRule> rules, const Fact& fact) {
    const std::string what = fact.what == "targets" ? "targets: " + fact.are : fact.what;
    const auto found = std::find_if(rules.begin(), rules.end(), [&](const FactRule& each) { return each.what == what; });
    return found == rules.end() ? nullptr : &*found;
}

std::string sentence_of(const FactRule& rule, const Fact& fact, const RecordedAttention& attention = {}) {
    const std::string name = fact.name.empty() ? "q" : escaped(fact.name);
    return fmt::format(fmt::runtime(rule.sentence), fmt::arg("name", name), fmt::arg("other", name == "k" ? "v" : "k"),
                       fmt::arg("class", escaped(fact.class_name)), fmt::arg("are", escaped(fact.are)), fmt::arg("B", attention.size('B')),
                       fmt::arg("T", attention.size('T')));
}

/// What ran, but left everything as it was.
CodeFinding thrown_away(const Fact& fact) {
    const bool masks = fact.are == "masked_fill" || fact.are == "where";
    return {Gravity::Wrong, masks ? "mask_missing" : "result_unused", "", fact.line,
            fmt::format("Nothing uses the result of {}{}.", escaped(fact.name), masks ? ": nothing is hidden" : "")};
}

}  // namespace

void look_at_facts(const Evidence& evidence) {
    for (const Fact& fact : evidence.attention.facts) {
        if (fact.what == "thrown_away") evidence.found.push_back(thrown_away(fact));
        const FactRule* rule = rule_of(kOfAttentions, fact);
        if (rule == nullptr || (evidence.attention.of_library && !rule->of_libraries)) continue;
        const std::string stage = rule->stage == "NAME" ? (fact.name.empty() ? "q" : fact.name) : std::string(rule->stage);
        evidence.add(rule->gravity, std::string(rule->bug), evidence.attention.find(stage), sentence_of(*rule, fact, evidence.attention));
    }
}

std::vector<CodeFinding> findings_around(const RecordedGraph& graph) {
    std::vector<CodeFinding> found;
    for (const Fact& fact : graph.facts) {
        if (fact.what == "thrown_away") found.push_back(thrown_away(fact));
        if (const FactRule* rule = rule_of(kAround, fact))
            found.push_back({rule->gravity, std::string(rule->bug), "", fact.line, sentence_of(*rule, fact)});
    }
    return found;
}

}  // namespace attn::recording
