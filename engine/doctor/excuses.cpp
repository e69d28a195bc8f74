#include "engine/doctor/excuses.hpp"

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

}  // namespace

void excuse(Trial& trial) {
    if (excuse_scale(trial)) return;
    if (!trial.known.concat_may_be_projected || trial.first_failure() != static_cast<int>(Part::Concat)) return;
    trial.found.right = true;
    trial.found.outcome.at(Part::Concat).reset();
    trial.found.suspects.clear();
    trial.found.warnings.emplace_back(
        "The attention's output is not its heads side by side; it may be the output of W_O, and is not judged.");
}

}  // namespace attn::doctor
