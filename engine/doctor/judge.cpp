#include "engine/doctor/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/doctor/assumptions.hpp"
#include "engine/doctor/closer_mistake.hpp"
#include "engine/doctor/excuses.hpp"
#include "engine/doctor/rotation.hpp"
#include "engine/doctor/suspects.hpp"
#include "engine/doctor/trial.hpp"
#include "engine/doctor/unlikely_intent.hpp"
#include "engine/doctor/weights_alone.hpp"

namespace attn::doctor {
namespace {

constexpr Part kTurned[] = {Part::Q, Part::K, Part::QRotated, Part::KRotated};

/// Rounding unit of 32-bit numbers.
constexpr double kFloat = 0x1p-24;

/// Whether nothing reveals the intended scale; then most weights differ.
bool scale_is_unknown(const Trial& trial) {
    const auto& weights = trial.found.outcome.parts[static_cast<std::size_t>(Part::Weights)];
    return trial.first_failure() == static_cast<int>(Part::Weights) && trial.sequence.has(Part::Scores) &&
           !trial.sequence.has(Part::Scaled) && !trial.sequence.has(Part::Masked) && !trial.sequence.scale &&
           trial.sequence.head_size == 0 && trial.sequence.usual_head_size == 0 && weights->differing * 2 > weights->judged;
}

/// Whether only the context or what follows it could show the mask, which the file does not state.
bool mask_is_unknown(const Trial& trial) {
    const Sequence& sequence = trial.sequence;
    return !sequence.intent.given && trial.first_failure() >= static_cast<int>(Part::Context) && !sequence.has(Part::Weights) &&
           !sequence.has(Part::Masked) && !sequence.has(Part::Dropped);
}

/// Whether a mistake, or an assumption about what the file does not record, has ended the judgement.
bool explain_differences(Trial& trial, const std::vector<IntendedMask>& intended) {
    if (find_stated_rotation(trial) || find_stated_bias(trial)) return true;
    find_suspects(trial, intended);
    const bool unexplained = trial.is_unexplained();
    // What the file says goes before dropout that is only fitted.
    const bool unsure = unexplained || trial.found.suspects.front().dropout_is_fitted;
    if (unsure && !trial.known.assumed && find_hidden_rotation(trial)) return true;
    if (unexplained && (find_other_rotation(trial) || find_backward_rotation(trial) || find_softcap(trial))) return true;
    if (unexplained) excuse(trial);
    if (trial.found.right) return false;
    if (find_closer_bias(trial)) return true;
    if (!trial.found.is_reproduced() && find_transposed_weights(trial)) return true;
    const bool may_assume = trial.is_unexplained() && !trial.known.assumed;
    if (may_assume && (find_position_bias(trial) || allow_short_products(trial) || find_swap(trial))) return true;
    if (!trial.cap_is_undecided) return false;
    trial.found.suspects.clear();
    trial.found.undecided = Undecided::Softcap;
    return true;
}

void find_whether_telling(Trial& trial) {
    for (int i = 0; i < kPartCount; ++i) {
        const auto& part = trial.found.outcome.parts[static_cast<std::size_t>(i)];
        if (part && part->judged > 0 && i != static_cast<int>(Part::Dropped)) trial.found.telling = true;
    }
}

void find_undecided(Trial& trial) {
    Judgement& found = trial.found;
    if (!found.right && found.suspects.empty() && scale_is_unknown(trial)) found.undecided = Undecided::Scale;
    if (!found.is_explained() && mask_is_unknown(trial)) found.undecided = Undecided::Mask;
}

Judgement judge_in_any_precision(const Sequence& sequence, const Known& known) {
    Judgement judgement = judge_as_given(sequence, known);
    if (judgement.right || sequence.unit >= kFloat) return judgement;
    // Files of 64-bit numbers often contain results of 32-bit computations, perhaps only of the softmax. Then many cells differ, not just a
    // few.
    const Comparison* difference = judgement.outcome.first_difference();
    if (difference == nullptr || difference->differing * 8 < difference->judged) return judgement;
    Sequence shorter = sequence;
    shorter.unit = kFloat;
    Known assumed = known;
    assumed.computed_with_32_bits = true;
    Judgement again = judge_as_given(shorter, assumed);
    if (!again.is_explained() || judgement.is_explained()) return judgement;
    again.warnings.push_back("The numbers are stored with 64 bits but were computed with 32.");
    return again;
}

/// Whether q or k, recorded before and after it, does not follow from a rotation that is known here.
bool rotation_differs(const Judgement& judgement) {
    const int first = judgement.outcome.first_failure();
    return std::any_of(std::begin(kTurned), std::end(kTurned), [&](Part part) { return static_cast<int>(part) == first; });
}

/// The same q and k as recorded after their rotation alone.
Sequence without_unrotated(Sequence sequence) {
    const auto clear = [&](Part part) { sequence.values[static_cast<std::size_t>(part)].clear(); };
    constexpr Part kEach[2][3] = {{Part::QProj, Part::Q, Part::QRotated}, {Part::KProj, Part::K, Part::KRotated}};
    for (const auto& [projection, plain, rotated] : kEach) {
        if (sequence.has(rotated)) clear(plain);
        if (sequence.has(plain) || sequence.has(rotated)) clear(projection);
    }
    return sequence;
}

/// What follows a rotation with unknown frequencies can be judged, if it turns q and k alike.
void excuse_rotation(const Sequence& sequence, const Known& known, const Rounding& rounding, Judgement& judgement) {
    if (judgement.is_explained() || sequence.rotation || !rotation_differs(judgement)) return;
    const std::optional<Rotation> rotation = shared_rotation(sequence, rounding);
    if (!rotation) return;
    Judgement rest = judge_in_any_precision(without_unrotated(sequence), known);
    rest.warnings.push_back(sequence.rotary_base
                                ? fmt::format("q and k are rotated alike, but by other angles than rope_theta = {:g} gives: the base is "
                                              "another one, or it is scaled.",
                                              *sequence.rotary_base)
                                : "q and k are rotated by rotary positions with an unusual base: give it as rope_theta.");
    if (rotation->factor != 1) rest.warnings.push_back(factor_words(*rotation));
    judgement = std::move(rest);
}

}  // namespace

Judgement judge_as_given(const Sequence& sequence, const Known& known) {
    Trial trial(sequence, known);
    const std::vector<IntendedMask> intended = intended_masks(sequence);
    find_mask(trial, intended);
    if (!trial.found.right && explain_differences(trial, intended)) return std::move(trial.found);
    const bool sums_may_tell = !trial.found.is_explained() && trial.first_failure() == static_cast<int>(Part::Weights);
    if (sums_may_tell) suspect_sums_of_weights(sequence, intended, trial.found);
    if (trial.found.right) doubt_intent(trial);
    judge_weights_alone(sequence, intended, trial.found);
    find_whether_telling(trial);
    find_undecided(trial);
    if (trial.found.right) trial.found.closer = closer_mistake(trial);
    return std::move(trial.found);
}

Judgement judge(const Sequence& sequence, const Known& known) {
    const Rounding rounding = rounding_of(sequence);
    Sequence turned = sequence;
    turned.rotation = visible_rotation(sequence, rounding);
    std::optional<MistakenRotation> mistaken = turned.rotation ? std::nullopt : unequal_rotations(sequence, rounding);
    if (!turned.rotation && !mistaken) mistaken = coarse_rotation(sequence, rounding);
    if (mistaken) turned.rotation = mistaken->rotation;
    Judgement judgement = judge_in_any_precision(turned, known);
    const bool shows = mistaken && !mistaken->words.empty() && judgement.outcome.first_failure() <= static_cast<int>(Part::KRotated);
    if (shows && !judgement.is_explained()) judgement.suspects = {{Bug::Other, mistaken->words}};
    excuse_rotation(turned, known, rounding, judgement);
    if (turned.rotation && turned.rotation->factor != 1) judgement.warnings.push_back(factor_words(*turned.rotation));
    return judgement;
}

}  // namespace attn::doctor
