#pragma once
/// Judges one recorded sequence: right under some mask that may have been meant, or which mistakes explain it.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/doctor/evaluation.hpp"
#include "engine/doctor/position_bias.hpp"

namespace attn::doctor {

/// A mistake that explains the first difference, and perhaps all.
struct Suspect {
    Bug bug = Bug::Other;
    std::string detail;
    int first_failure = kPartCount;  ///< part that it does not explain; kPartCount: it reproduces everything
    int failures = 0;
    double dropout_rate = 0;
    bool scale_is_observed = false;  ///< of Other: a constant factor of the scores that no known mistake gives
    /// How far its numbers are from the recorded ones where these differ first, in units of the recording's rounding (root mean squares);
    /// 0 where it is fitted to them.
    double deviation = 0;
};

/// Of mistakes that explain equally much, best first, those go last whose numbers are clearly farther from the recording than others'.
template <class Iterator, class Deviation>
void farther_last(Iterator begin, Iterator end, const Deviation& deviation) {
    double least = std::numeric_limits<double>::infinity();
    for (Iterator it = begin; it != end; ++it)
        if (deviation(*it) > 0) least = std::min(least, deviation(*it));
    // What rounding alone may do says nothing.
    std::stable_partition(begin, end, [&](const auto& one) { return !(deviation(one) > 2 * std::max(least, 0.5)); });
}

enum class Undecided : std::uint8_t { Nothing, Mask, Scale };

struct Judgement {
    bool right = false;
    bool telling = false;           ///< some comparison could have failed
    Plan plan;                      ///< the one that fits, or fits best
    Outcome outcome;                ///< under that plan without a mistake
    std::vector<Suspect> suspects;  ///< at most one for each bug, the best first; empty when right
    std::vector<std::string> warnings;
    std::optional<PositionBias> bias;          ///< that the file does not hold, and explains what is recorded
    Undecided undecided = Undecided::Nothing;  ///< what wrong or right depends on, and nothing tells
};

/// What is known besides the sequence itself.
struct Known {
    bool concat_may_be_projected = false;
    double short_products = 0;           ///< relative error of a product's factors
    const PositionBias* bias = nullptr;  ///< seen in another sequence of the same attention
    bool assumed = false;                ///< something that the file does not show is assumed already: nothing further is
    bool swapped = false;                ///< q and k were exchanged, to see whether that explains the numbers
    bool computed_with_32_bits = false;  ///< 64-bit numbers, held to the rounding of 32; that of GPUs is then out of the question
};

Judgement judge(const Sequence& sequence, const Known& known);

}  // namespace attn::doctor
