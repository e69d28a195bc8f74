#include "engine/doctor/refutation.hpp"

#include <algorithm>
#include <cmath>

#include "engine/doctor/keep_patterns.hpp"
#include "engine/doctor/one_head.hpp"

namespace attn::doctor {
namespace {

/// Number of cells from which one head is looked at first.
constexpr std::int64_t kLongMaps = 1 << 18;

/// That head of a long text, or else all heads.
Sequence telling_part(const Trial& trial, const Sequence& assumed) {
    return is_long(trial.sequence) ? head_of(assumed, telling_head(trial)) : assumed;
}

/// A bias found in another sequence has numbers for all heads.
Known without_bias(Known known) {
    known.bias = nullptr;
    return known;
}

bool shares_heads(const Trial& trial) {
    return std::any_of(trial.sequence.stored_heads.begin(), trial.sequence.stored_heads.end(),
                       [&](std::int64_t stored) { return stored > 0 && stored < trial.sequence.heads; });
}

/// Whether a softmax over the heads explains the first difference.
bool heads_may_explain(const Trial& trial, const Sequence& assumed) {
    SharedProducts shared;
    const int first = trial.first_failure();
    const std::vector<IntendedMask> intended = intended_masks(assumed);
    return std::any_of(intended.begin(), intended.end(), [&](const IntendedMask& candidate) {
        Recipe recipe = correct_recipe(assumed, candidate);
        recipe.axis = SoftmaxAxis::Heads;
        return !candidate.guessed && evaluate(assumed, recipe, trial.rounding, shared, first).first_failure() > first;
    });
}

}  // namespace

bool is_long(const Sequence& sequence) { return sequence.map_size() >= kLongMaps && is_separable(sequence); }

std::int64_t telling_head(const Trial& trial) {
    const auto cells = static_cast<std::int64_t>(trial.sequence[static_cast<Part>(trial.first_failure())].size()) / trial.sequence.heads;
    return trial.found.outcome.first_difference()->first / cells;
}

bool heads_may_sum_to_one(const Trial& trial) {
    if (!trial.sequence.has(Part::Weights) || trial.first_failure() != static_cast<int>(Part::Weights)) return true;
    const auto map = static_cast<std::size_t>(trial.sequence.queries * trial.sequence.keys);
    const auto cell = static_cast<std::size_t>(trial.found.outcome.first_difference()->first) % map;
    double sum = 0;
    for (std::size_t i = cell; i < trial.sequence[Part::Weights].size(); i += map) sum += trial.sequence[Part::Weights][i];
    return !(std::fabs(sum - 1) > 0.1);
}

bool may_be_right(const Trial& trial, const Sequence& assumed, const Known& known) {
    return !is_long(trial.sequence) || judge_as_given(telling_part(trial, assumed), without_bias(known)).right;
}

bool may_explain(const Trial& trial, const Sequence& assumed, const Known& known) {
    if (!is_long(trial.sequence) || shares_heads(trial)) return true;
    const Judgement of_head = judge_as_given(telling_part(trial, assumed), without_bias(known));
    return of_head.is_explained() || (heads_may_sum_to_one(trial) && heads_may_explain(trial, assumed));
}

bool explains_more(const Trial& trial, const Sequence& all) {
    const Sequence assumed = telling_part(trial, all);
    SharedProducts shared;
    const int first = trial.first_failure();
    const auto explains = [&](const IntendedMask& candidate) {
        return evaluate(assumed, correct_recipe(assumed, candidate), trial.rounding, shared, first).first_failure() > first;
    };
    std::vector<IntendedMask> intended = intended_masks(assumed);
    std::erase_if(intended, [](const IntendedMask& candidate) { return candidate.guessed; });
    // Include a misaligned causal mask, which is reported as a mistake once everything else is explained.
    IntendedMask misaligned;
    misaligned.keep = std::make_shared<const Keep>(causal_keep(assumed, 0));
    if (assumed.keys > assumed.queries && assumed.intent.causal == true) intended.push_back(misaligned);
    return std::any_of(intended.begin(), intended.end(), explains);
}

bool explains_all(const Trial& trial, const Sequence& assumed) {
    SharedProducts shared;
    const std::vector<IntendedMask> intended = intended_masks(assumed);
    return std::any_of(intended.begin(), intended.end(), [&](const IntendedMask& candidate) {
        return evaluate(assumed, correct_recipe(assumed, candidate), trial.rounding, shared, kPartCount).first_failure() == kPartCount;
    });
}

}  // namespace attn::doctor
