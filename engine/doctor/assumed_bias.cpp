#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "engine/doctor/alibi.hpp"
#include "engine/doctor/assumptions.hpp"
#include "engine/doctor/keep_patterns.hpp"
#include "engine/doctor/position_bias.hpp"
#include "engine/doctor/refutation.hpp"

namespace attn::doctor {
namespace {

constexpr double kSixteenBits = 0x1p-12;

Sequence with_bias(const Trial& trial, const PositionBias& bias) {
    Sequence biased = trial.sequence;
    biased.intent.bias = bias.values;
    biased.intent.bias_error = bias.error;
    biased.intent.bias_from = bias.from;
    return biased;
}

bool judge_with_bias(Trial& trial, const PositionBias& bias, const std::string& warning) {
    if (bias.values.empty()) return false;
    const Sequence biased = with_bias(trial, bias);
    const std::string said = trial.sequence.intent.has_unrecorded_bias ? "" : warning;
    return may_explain(trial, biased, assuming(trial)) && adopt(trial, judge_as_given(biased, assuming(trial)), said);
}

/// ALiBi's own slopes need no cells to confirm them. Whether the sign is correct is judged afterwards.
bool find_alibi(Trial& trial, Part from) {
    constexpr const char* kWarning = "The scores contain ALiBi's position bias, which is not in the file.";
    const auto fits = [&](AlibiForm form, double factor, bool if_small) {
        const PositionBias alibi{alibi_bias(trial.sequence, form, factor), 0, 0, from};
        return ((if_small && is_small(trial)) || explains_more(trial, with_bias(trial, alibi))) && judge_with_bias(trial, alibi, kWarning);
    };
    if (from == Part::Masked && (fits(AlibiForm::Distance, 1, true) || fits(AlibiForm::Distance, -1, true))) return true;
    if (is_long(trial.sequence)) return false;  // enough cells show any bias
    // Falcon scales the biases together with the products.
    for (const double factor : {1.0, proper_scale(trial.sequence)})
        for (const AlibiForm form : {AlibiForm::Distance, AlibiForm::Signed, AlibiForm::Past, AlibiForm::Key, AlibiForm::KeyFromLast})
            if (fits(form, factor, false) || fits(form, -factor, false)) return true;
    return false;
}

/// The difference between masked and scaled in every cell, if most cells have one: a mistake in a single cell is not a bias. At
/// distance 0 most biases are 0.
PositionBias cell_biases(const Trial& trial) {
    const std::vector<double>&masked = trial.sequence[Part::Masked], &scaled = trial.sequence[Part::Scaled];
    PositionBias out;
    std::int64_t differing = 0, open = 0;
    for (std::size_t i = 0; i < masked.size(); ++i) {
        const auto cell = static_cast<std::int64_t>(i), t = cell / trial.sequence.keys % trial.sequence.queries,
                   s = cell % trial.sequence.keys;
        const bool kept = (*trial.found.intended.keep)[i] != 0 && masked[i] > kForbidding && std::isfinite(masked[i] - scaled[i]);
        out.values.push_back(kept ? masked[i] - scaled[i] : 0);
        if (!kept || s == t) continue;
        ++open;
        differing += masked[i] != scaled[i];
    }
    if (differing < std::min<std::int64_t>(2, open) || differing * 5 < open * 2 || differing == 0) return {};
    return out;
}

constexpr const char* kObserved = "The scores contain a position bias, a number for every head and distance, that is not in the file.";

bool find_observed(Trial& trial, Part part, const std::shared_ptr<const Estimate>& without, const Keep& keep) {
    for (const BiasAxis axis : {BiasAxis::Distance, BiasAxis::Key}) {
        if (without == nullptr) return false;
        const auto bias = observed_position_bias(trial.sequence, part, *without, keep, trial.rounding, axis);
        const bool is_refuted = bias && is_long(trial.sequence) && part < Part::Masked && !explains_more(trial, with_bias(trial, *bias));
        if (!bias || is_refuted || !judge_with_bias(trial, *bias, kObserved)) continue;
        trial.found.bias = bias;
        return true;
    }
    return false;
}

/// The correct recipe, then those of mistakes that change the scores, beside which a bias may show.
std::vector<Recipe> recipes_of_scores(const Trial& trial) {
    std::vector<Recipe> out{correct_recipe(trial.sequence, trial.found.intended)};
    // In 16-bit numbers a mistake and a bias together explain too much.
    if (!is_small(trial) || trial.rounding.unit >= kSixteenBits) return out;
    for (const Recipe& recipe : mistaken_recipes(trial.sequence, trial.found.intended))
        if (recipe.changes_scores(out.front())) out.push_back(recipe);
    return out;
}

/// The recorded scores or scaled scores, which no mask has changed yet, already contain a bias.
bool find_early_bias(Trial& trial, Part part) {
    if (find_alibi(trial, part)) return true;
    const Keep all = full_keep(trial.sequence);
    for (const Recipe& recipe : recipes_of_scores(trial)) {
        const auto without = as_follows(trial.sequence, part, recipe, trial.rounding, trial.shared);
        if (find_observed(trial, part, without, all)) return true;
        if (part != Part::Scores || without == nullptr || recipe.scale == 1) continue;
        if (find_observed(trial, part, std::make_shared<const Estimate>(scaled(*without, recipe.scale, trial.rounding)), all)) return true;
    }
    return false;
}

/// A bias of the file, and what is said if it fits.
struct StatedBias {
    PositionBias bias;
    std::string warning;
};

/// Models add a bias to the products or to the scaled scores, or scale it with them.
std::vector<StatedBias> stated_biases(const Trial& trial) {
    std::vector<StatedBias> out;
    const Intent& intent = trial.sequence.intent;
    for (const Part from : {Part::Scores, Part::Scaled, Part::Masked})
        for (const double factor : {1.0, proper_scale(trial.sequence)}) {
            if (from == Part::Masked ? factor == 1 : !trial.sequence.has(from)) continue;
            PositionBias bias{intent.bias, std::fabs(factor) * intent.bias_error, 0, from};
            for (double& x : bias.values) x *= factor;
            out.push_back({std::move(bias), from == Part::Masked ? "The position bias is scaled together with the products, as Falcon does."
                                                                 : fmt::format("{} already contain the position bias.", part_name(from))});
        }
    return out;
}

bool may_have_bias(const Trial& trial) {
    return trial.first_failure() >= static_cast<int>(Part::Scores) && trial.first_failure() < kPartCount;
}

}  // namespace

bool find_stated_bias(Trial& trial) {
    if (trial.known.assumed || trial.sequence.intent.bias.empty() || !may_have_bias(trial)) return false;
    const std::vector<StatedBias> stated = stated_biases(trial);
    return std::any_of(stated.begin(), stated.end(), [&](const StatedBias& each) {
        const Sequence biased = with_bias(trial, each.bias);
        return explains_more(trial, biased) && explains_all(trial, biased) && judge_with_bias(trial, each.bias, each.warning);
    });
}

bool find_closer_bias(Trial& trial) {
    if (trial.known.assumed || trial.rounding.unit < kSixteenBits || !trial.found.is_reproduced()) return false;
    const double far = trial.found.suspects.front().deviation;
    Trial other = trial;
    if (!is_clearly_farther(far, 0) || !find_position_bias(other) || !other.found.right) return false;
    const auto& part = other.found.outcome.at(static_cast<Part>(trial.first_failure()));
    if (!part || !is_clearly_farther(far, part->deviation(trial.rounding))) return false;
    trial.found = std::move(other.found);
    return true;
}

bool find_position_bias(Trial& trial) {
    if (!may_have_bias(trial)) return false;
    const int first = trial.first_failure();
    if (!trial.sequence.intent.bias.empty()) {
        const std::vector<StatedBias> stated = stated_biases(trial);
        return std::any_of(stated.begin(), stated.end(), [&](const StatedBias& each) {
            return (is_small(trial) || explains_more(trial, with_bias(trial, each.bias))) &&
                   judge_with_bias(trial, each.bias, each.warning);
        });
    }
    if (trial.known.bias != nullptr && first <= static_cast<int>(Part::Weights))
        return judge_with_bias(trial, *trial.known.bias, kObserved);
    if (first <= static_cast<int>(Part::Scaled)) return find_early_bias(trial, static_cast<Part>(first));
    if (first > static_cast<int>(Part::Weights)) return !trial.sequence.has(Part::Weights) && find_alibi(trial, Part::Masked);
    const Part part = trial.sequence.has(Part::Masked) ? Part::Masked : Part::Weights;
    const Keep keep = *trial.found.intended.keep;
    if (scaled_scores(trial.sequence, correct_recipe(trial.sequence, trial.found.intended), trial.rounding, trial.shared) == nullptr)
        return false;
    if (find_alibi(trial, Part::Masked)) return true;
    for (const Recipe& recipe : recipes_of_scores(trial))
        if (find_observed(trial, part, scaled_scores(trial.sequence, recipe, trial.rounding, trial.shared), keep)) return true;
    return first == static_cast<int>(Part::Masked) && trial.sequence.has(Part::Scaled) && !seen_cap(trial) &&
           judge_with_bias(trial, cell_biases(trial),
                           "masked differs from scaled by finite amounts, as if a position bias had been added; it is not in the file.");
}

}  // namespace attn::doctor
