#include "engine/doctor/assumptions.hpp"

#include <utility>

#include "engine/doctor/refutation.hpp"

namespace attn::doctor {

Known assuming(const Trial& trial) {
    Known known = trial.known;
    known.assumed = true;
    return known;
}

bool adopt(Trial& trial, Judgement again, const std::string& warning) {
    if (!again.is_explained()) return false;
    trial.found = std::move(again);
    if (!warning.empty()) trial.found.warnings.push_back(warning);
    return true;
}

bool is_small(const Trial& trial) { return trial.sequence.map_size() <= 1 << 14; }

bool differs_in_many_cells(const Trial& trial) {
    constexpr std::int64_t kMany = 8;
    const Comparison* difference = trial.found.outcome.first_difference();
    return difference != nullptr && difference->differing >= kMany;
}

bool find_transposed_weights(Trial& trial) {
    const int first = trial.first_failure();
    const bool may_be = first == static_cast<int>(Part::Weights) || first == static_cast<int>(Part::Context);
    if (trial.known.assumed || trial.sequence.queries != trial.sequence.keys || !trial.sequence.has(Part::Weights) || !may_be) return false;
    Sequence upright = trial.sequence;
    const std::vector<double>& weights = trial.sequence[Part::Weights];
    for (std::size_t i = 0; i < weights.size(); ++i)
        upright.values[static_cast<std::size_t>(Part::Weights)][trial.sequence.transposed(i)] = weights[i];
    if (!may_be_right(trial, upright, assuming(trial)) || !judge_as_given(upright, assuming(trial)).right) return false;
    trial.found.suspects = {{Bug::Other, "The weights are transposed: their columns are queries and their rows are keys."}};
    return true;
}

bool find_swap(Trial& trial) {
    const bool split = trial.sequence.has(Part::Q) && trial.sequence.has(Part::K);
    const bool projected = trial.sequence.has(Part::QProj) && trial.sequence.has(Part::KProj);
    const bool fits = trial.sequence.queries == trial.sequence.keys &&
                      (split || (projected && trial.sequence.heads_stored(Part::KProj) == trial.sequence.heads));
    const int first = trial.first_failure();
    if (trial.known.swapped || trial.sequence.rotation || !fits || !is_small(trial) || first < static_cast<int>(Part::Scores)) return false;
    Sequence swapped = trial.sequence;
    const auto values = [&](Part part) -> std::vector<double>& { return swapped.values[static_cast<std::size_t>(part)]; };
    std::swap(values(Part::Q), values(Part::K));
    std::swap(values(Part::QProj), values(Part::KProj));
    if (split) values(Part::QProj).clear(), values(Part::KProj).clear();
    Known known = trial.known;
    known.swapped = true;
    if (!judge_as_given(swapped, known).right) return false;
    trial.found.suspects = {{Bug::QueriesKeysSwapped, ""}};
    return true;
}

bool allow_short_products(Trial& trial) {
    constexpr double kShort = 0x1p-10;
    const int first = trial.first_failure();
    const bool single = trial.rounding.unit <= 0x1p-24 && trial.rounding.unit > 0x1p-32;
    if (trial.known.short_products > 0 || trial.known.computed_with_32_bits || !single || first == kPartCount) return false;
    const Comparison& comparison = *trial.found.outcome.first_difference();
    if (comparison.differing * 4 < comparison.judged - comparison.exact || seen_cap(trial)) return false;
    Known known = trial.known;
    known.short_products = kShort;
    return may_explain(trial, trial.sequence, known) &&
           adopt(trial, judge_as_given(trial.sequence, known), "The products were computed with about 11 bits, as GPUs do in TF32.");
}

}  // namespace attn::doctor
