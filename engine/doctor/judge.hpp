#pragma once
/// Judges one recorded sequence: right under some mask that may have been meant, or which mistakes explain it.

#include <string>
#include <vector>

#include "engine/doctor/evaluation.hpp"

namespace attn::doctor {

/// A mistake that explains the first difference, and perhaps all.
struct Suspect {
    Bug bug = Bug::Other;
    std::string detail;
    int first_failure = kPartCount;  ///< part that it does not explain; kPartCount: it reproduces everything
    int failures = 0;
    double dropout_rate = 0;
    bool scale_is_observed = false;  ///< of Other: a constant factor of the scores that no known mistake gives
};

struct Judgement {
    bool right = false;
    bool telling = false;           ///< some comparison could have failed
    Plan plan;                      ///< the one that fits, or fits best
    Outcome outcome;                ///< under that plan without a mistake
    std::vector<Suspect> suspects;  ///< at most one for each bug, the best first; empty when right
    std::vector<std::string> warnings;
    bool undecided = false;  ///< wrong or right depends on a mask that nothing tells
};

Judgement judge(const Sequence& sequence, bool concat_may_be_projected);

}  // namespace attn::doctor
