#pragma once
/// A sequence, and what its judgement has found so far.

#include <optional>
#include <utility>
#include <vector>

#include "engine/doctor/judge.hpp"

namespace attn::doctor {

struct Trial {
    /// The sequence has to outlive it.
    Trial(const Sequence& sequence, const Known& known);

    const Sequence& sequence;
    const Known known;
    Rounding rounding;
    SharedProducts shared;
    Judgement found;
    std::optional<std::pair<IntendedMask, Outcome>> custom_scale;  ///< a mask under which a custom factor reproduces everything
    std::optional<double> seen_cap;                                ///< the soft cap that the first differing stage shows
    bool cap_is_known = false;                                     ///< that was looked for
    bool cap_is_undecided = false;                                 ///< a cap and another scale explain everything

    int first_failure() const { return found.outcome.first_failure(); }
    /// Whether nothing but perhaps a factor that was measured reproduces everything.
    bool is_unexplained() const { return !found.is_reproduced() || found.suspects.front().scale_is_observed; }
    /// Throws Cancelled if the judgement is to end.
    void expect_to_go_on() const;
};

/// Takes the mask that fits, or fits best, and compares everything under it.
void find_mask(Trial& trial, const std::vector<IntendedMask>& intended);

/// Judges a sequence with the rotation that it has, by the rounding of its numbers.
Judgement judge_as_given(const Sequence& sequence, const Known& known);

}  // namespace attn::doctor
