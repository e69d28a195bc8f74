#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/doctor/alibi.hpp"
#include "engine/doctor/assumptions.hpp"
#include "engine/doctor/position_bias.hpp"
#include "engine/doctor/refutation.hpp"

namespace attn::doctor {
namespace {

Sequence with_bias(const Trial& trial, const PositionBias& bias) {
    Sequence biased = trial.sequence;
    biased.intent.bias = bias.values;
    biased.intent.bias_error = bias.error;
    return biased;
}

bool judge_with_bias(Trial& trial, const PositionBias& bias, const char* warning) {
    if (bias.values.empty()) return false;
    const Sequence biased = with_bias(trial, bias);
    return may_explain(trial, biased, assuming(trial)) && adopt(trial, judge_as_given(biased, assuming(trial)), warning);
}

/// ALiBi's own slopes need no cells to confirm them. Whether the sign is correct is judged afterwards.
bool find_alibi(Trial& trial) {
    for (const bool wrong_sign : {false, true}) {
        const PositionBias alibi{alibi_bias(trial.sequence, wrong_sign)};
        if ((is_small(trial) || explains_more(trial, with_bias(trial, alibi))) &&
            judge_with_bias(trial, alibi, "The scores contain ALiBi's position bias, which is not in the file."))
            return true;
    }
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

}  // namespace

bool find_position_bias(Trial& trial) {
    const int first = trial.first_failure();
    if (first < static_cast<int>(Part::Masked) || first == kPartCount || !trial.sequence.intent.bias.empty()) return false;
    if (first > static_cast<int>(Part::Weights)) return !trial.sequence.has(Part::Weights) && find_alibi(trial);
    const auto scores = scaled_scores(trial.sequence, correct_recipe(trial.sequence, trial.found.intended), trial.rounding, trial.shared);
    if (scores == nullptr) return false;
    constexpr const char* kWarning = "The scores contain a position bias, a number for every head and distance, that is not in the file.";
    if (trial.known.bias != nullptr) return judge_with_bias(trial, *trial.known.bias, kWarning);
    if (find_alibi(trial)) return true;
    if (const auto bias = observed_position_bias(trial.sequence, *scores, *trial.found.intended.keep, trial.rounding);
        bias && judge_with_bias(trial, *bias, kWarning)) {
        trial.found.bias = bias;
        return true;
    }
    return first == static_cast<int>(Part::Masked) && trial.sequence.has(Part::Scaled) && !seen_cap(trial) &&
           judge_with_bias(trial, cell_biases(trial),
                           "masked differs from scaled by finite amounts, as if a position bias had been added; it is not in the file.");
}

}  // namespace attn::doctor
