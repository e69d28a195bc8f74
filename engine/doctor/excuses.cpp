#include "engine/doctor/excuses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/doctor/rotation.hpp"

namespace attn::doctor {
namespace {

/// A custom factor that appears in a recorded stage of its own is deliberate; one hidden between q and the weights may be a mistake and
/// counts as a difference.
bool excuse_scale(Trial& trial) {
    if (trial.found.suspects.empty() || !trial.found.suspects.front().scale_is_observed || !trial.found.is_reproduced()) return false;
    const bool size_is_known = trial.sequence.head_size > 0 || trial.sequence.usual_head_size > 0;
    if (!trial.custom_scale || (!trial.sequence.has(Part::Scaled) && size_is_known)) return false;
    trial.found.intended = trial.custom_scale->first;
    trial.found.outcome = trial.custom_scale->second;
    trial.found.right = true;
    trial.found.warnings.push_back(trial.found.suspects.front().detail);
    trial.found.suspects.clear();
    return true;
}

/// A rotation with unknown frequencies; those with known ones are recomputed.
void excuse_rotation(const Trial& trial, Outcome& outcome, std::vector<std::string>& warnings) {
    constexpr Part kTurned[] = {Part::Q, Part::K, Part::QRotated, Part::KRotated};
    const bool differ =
        std::any_of(std::begin(kTurned), std::end(kTurned), [&](Part part) { return outcome.at(part) && !outcome.at(part)->ok(); });
    if (!differ || trial.sequence.rotation || trial.known.other_rotation || !turned_alike(trial.sequence, trial.rounding)) return;
    for (const Part part : kTurned) outcome.at(part).reset();
    if (trial.sequence.rotary_base)
        warnings.push_back(fmt::format("q and k are rotated alike, but by other angles than rope_theta = {:g} gives: the base is another "
                                       "one, or it is scaled.",
                                       *trial.sequence.rotary_base));
    else warnings.push_back("q and k are rotated by rotary positions with an unusual base: give it as rope_theta.");
}

}  // namespace

void excuse(Trial& trial) {
    if (excuse_scale(trial)) return;
    Outcome excused = trial.found.outcome;
    std::vector<std::string> warnings;
    excuse_rotation(trial, excused, warnings);
    if (trial.known.concat_may_be_projected && excused.first_failure() == static_cast<int>(Part::Concat)) {
        excused.at(Part::Concat).reset();
        warnings.push_back("The attention's output is not its heads side by side; it may be the output of W_O, and is not judged.");
    }
    if (excused.first_failure() < kPartCount) return;
    trial.found.right = true;
    trial.found.outcome = excused;
    trial.found.suspects.clear();
    trial.found.warnings.insert(trial.found.warnings.end(), warnings.begin(), warnings.end());
}

}  // namespace attn::doctor
