#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/doctor/assumptions.hpp"
#include "engine/doctor/one_head.hpp"
#include "engine/doctor/refutation.hpp"
#include "engine/doctor/softcap.hpp"

namespace attn::doctor {
namespace {

Sequence with_cap(const Sequence& sequence, std::optional<double> cap) {
    Sequence capped = sequence;
    capped.softcap = cap;
    return capped;
}

/// A cap would explain a single number that is closer to 0 than it should be.
bool may_show_cap(const Trial& trial) {
    constexpr std::int64_t kSome = 4;
    const Comparison* difference = trial.found.outcome.first_difference();
    if (difference == nullptr) return false;
    const bool most = difference->differing * 2 > difference->judged - difference->exact;
    return difference->differing >= kSome || most || trial.sequence.has(Part::Capped);
}

/// Whether a constant factor explains the numbers as well as this cap does, or whether they are so few that most caps and factors do.
enum class CapOrScale : std::uint8_t { Cap, Scale, Either };
CapOrScale cap_or_scale(const Trial& trial, const Judgement& capped) {
    constexpr std::int64_t kFew = 8;
    constexpr double kClearly = 1.5;
    const auto first = static_cast<std::size_t>(trial.first_failure());
    const auto& difference = trial.found.outcome.parts[first];
    if (difference->judged - difference->exact < kFew && !trial.sequence.has(Part::Capped)) return CapOrScale::Either;
    if (!trial.custom_scale || !trial.custom_scale->second.parts[first] || !capped.outcome.parts[first]) return CapOrScale::Cap;
    const double scale = trial.custom_scale->second.parts[first]->squares, cap = capped.outcome.parts[first]->squares;
    return cap * kClearly < scale ? CapOrScale::Cap : scale * kClearly < cap ? CapOrScale::Scale : CapOrScale::Either;
}

/// The squared errors of the first differing stage if its numbers are capped.
double squares_under(std::optional<double> cap, const Trial& trial, const Sequence& looked_at, Recipe recipe, SharedProducts& shared) {
    trial.expect_to_go_on();
    recipe.cap = cap.value_or(0);
    Outcome outcome = evaluate(with_cap(looked_at, cap), recipe, trial.rounding, shared);
    const auto& part = outcome.at(static_cast<Part>(trial.first_failure()));
    return part && std::isfinite(part->squares) ? part->squares : std::numeric_limits<double>::infinity();
}

/// nullopt if this cap is refuted at once.
std::optional<Judgement> judge_with_cap(const Trial& trial, double cap) {
    Known known = assuming(trial);
    known.other_softcap = true;
    const Sequence capped = with_cap(trial.sequence, cap);
    if (!explains_more(trial, capped) || !may_explain(trial, capped, known)) return std::nullopt;
    return judge_as_given(capped, known);
}

/// Whether the numbers follow from this cap instead of the one that the file states.
bool find_other_cap(Trial& trial, double cap) {
    const std::optional<Judgement> judgement = judge_with_cap(trial, cap);
    if (!judgement || !judgement->right) return false;
    trial.found.suspects = {{Bug::Other, fmt::format("The scores are soft-capped at {:.6g}, but the file says softcap = {:.6g}.", cap,
                                                     *trial.sequence.softcap)}};
    return true;
}

/// Whether the numbers follow from this cap, if another scale does not explain them as well.
enum class Capped : std::uint8_t { No, Yes, ScaleFits };
Capped find_untold_cap(Trial& trial, double cap) {
    std::optional<Judgement> judgement = judge_with_cap(trial, cap);
    if (!judgement) return Capped::No;
    if (judgement->right && !trial.known.softcap) {
        const CapOrScale better = cap_or_scale(trial, *judgement);
        trial.cap_is_undecided = better == CapOrScale::Either;
        if (better != CapOrScale::Cap) return Capped::ScaleFits;
    }
    if (!adopt(trial, *std::move(judgement),
               fmt::format("The scores are soft-capped, which the file does not say: softcap = {:.6g} fits.", cap)))
        return Capped::No;
    trial.found.softcap = cap;
    return Capped::Yes;
}

}  // namespace

std::optional<double> seen_cap(Trial& trial) {
    if (trial.cap_is_known) return trial.seen_cap;
    trial.cap_is_known = true;
    const int first = trial.first_failure();
    if (first < static_cast<int>(Part::Scores) || first == kPartCount || trial.known.other_softcap) return std::nullopt;
    // One head shows it as well as all.
    const bool split = is_long(trial.sequence);
    const Sequence looked_at = split ? head_of(trial.sequence, 0) : trial.sequence;
    const Recipe whole = correct_recipe(trial.sequence, trial.found.intended), right = split ? head_of(whole, trial.sequence, 0) : whole;
    SharedProducts shared;
    const auto squares = [&](std::optional<double> cap) { return squares_under(cap, trial, looked_at, right, shared); };
    const double without = std::min(squares(std::nullopt), squares(trial.sequence.softcap));
    // Of 16-bit numbers rounding may be as large as what a cap changes; whether it explains them all is judged afterwards.
    const double left = trial.rounding.unit >= 0x1p-12 && first <= static_cast<int>(Part::Weights) ? 1 : 0.125;
    if (without > 0 && std::isfinite(without)) trial.seen_cap = best_cap(without, left, squares);
    return trial.seen_cap;
}

bool find_softcap(Trial& trial) {
    if (trial.known.other_softcap || (!trial.known.softcap && !may_show_cap(trial))) return false;
    const std::optional<double> seen = trial.known.softcap ? trial.known.softcap : seen_cap(trial);
    if (!seen) return false;
    for (const double cap : likely_caps(*seen)) {
        if (trial.sequence.softcap) {
            if (find_other_cap(trial, cap)) return true;
        } else if (const Capped capped = find_untold_cap(trial, cap); capped != Capped::No) {
            return capped == Capped::Yes;
        }
    }
    return false;
}

}  // namespace attn::doctor
