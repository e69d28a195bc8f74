#include "engine/doctor/suspects.hpp"

#include <algorithm>

#include "engine/doctor/one_head.hpp"
#include "engine/doctor/refutation.hpp"

namespace attn::doctor {
namespace {

/// Mistakes are tried under at most this many plausible masks.
constexpr int kMostIntended = 4;

bool better(const Suspect& a, const Suspect& b) {
    if (a.first_failure != b.first_failure) return a.first_failure > b.first_failure;
    return a.failures < b.failures;
}

/// See Suspect::deviation.
double deviation(const Trial& trial, const Recipe& recipe, const Outcome& outcome) {
    const auto& part = outcome.parts[static_cast<std::size_t>(trial.first_failure())];
    return recipe.is_fitted() || !part ? 0 : part->deviation(trial.rounding);
}

/// A recipe that leaves a differing part unevaluated does not explain it.
bool covers(const Trial& trial, const Outcome& outcome) {
    for (std::size_t i = 0; i < kPartCount; ++i)
        if (trial.found.outcome.parts[i] && !trial.found.outcome.parts[i]->ok() && !outcome.parts[i]) return false;
    return true;
}

void add_suspect(Trial& trial, Suspect suspect) {
    for (Suspect& known : trial.found.suspects)
        if (known.bug == suspect.bug && known.detail == suspect.detail) {
            if (better(suspect, known)) known = std::move(suspect);
            return;
        }
    trial.found.suspects.push_back(std::move(suspect));
}

void try_recipe(Trial& trial, const IntendedMask& candidate, const Recipe& recipe) {
    const Outcome outcome = evaluate(trial.sequence, recipe, trial.rounding, trial.shared, trial.first_failure());
    if (recipe.scale_is_observed && outcome.first_failure() == kPartCount && !trial.custom_scale)
        trial.custom_scale.emplace(candidate, outcome);
    if (outcome.first_failure() > trial.first_failure() && covers(trial, outcome))
        add_suspect(trial, {*recipe.bug, recipe.detail, outcome.first_failure(), outcome.failures(), outcome.dropout_rate,
                            recipe.scale_is_observed, deviation(trial, recipe, outcome), recipe.dropout == DropoutUse::InContext});
}

void sort(std::vector<Suspect>& suspects) {
    std::stable_sort(suspects.begin(), suspects.end(), [](const Suspect& a, const Suspect& b) { return better(a, b); });
    const auto worse =
        std::find_if(suspects.begin(), suspects.end(), [&](const Suspect& suspect) { return better(suspects.front(), suspect); });
    farther_last(suspects.begin(), worse, [](const Suspect& suspect) { return suspect.deviation; });
}

/// The head of a long text with the first difference, in which most mistakes are refuted.
class TellingHead {
public:
    explicit TellingHead(const Trial& trial) : trial_(trial) {}

    /// Whether a mistake does not even explain the first difference in that head.
    bool refutes(const Recipe& recipe) {
        if (!is_long(trial_.sequence)) return false;
        if (recipe.axis == SoftmaxAxis::Heads) return !heads_may_sum_to_one(trial_);
        if (recipe.mixes_heads()) return false;
        if (!head_) head_ = head_of(trial_.sequence, telling_head(trial_));
        const int first = trial_.first_failure();
        const Recipe of_head = head_of(recipe, trial_.sequence, telling_head(trial_));
        return evaluate(*head_, of_head, trial_.rounding, shared_, first).first_failure() <= first;
    }

private:
    const Trial& trial_;
    std::optional<Sequence> head_;
    SharedProducts shared_;
};

}  // namespace

void find_suspects(Trial& trial, const std::vector<IntendedMask>& intended) {
    TellingHead telling_head(trial);
    int tried = 0;
    for (const IntendedMask& candidate : intended) {
        if (candidate.guessed || tried++ == kMostIntended) break;
        for (const Recipe& recipe : mistaken_recipes(trial.sequence, candidate)) {
            trial.expect_to_go_on();
            if (!telling_head.refutes(recipe)) try_recipe(trial, candidate, recipe);
        }
    }
    sort(trial.found.suspects);
}

}  // namespace attn::doctor
