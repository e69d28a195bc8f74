#pragma once
/// Judges a recorded sequence: correct under some plausible mask, or which mistakes explain it.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/doctor/evaluation.hpp"
#include "engine/doctor/position_bias.hpp"

namespace attn::doctor {

/// A mistake that explains the first difference, and perhaps all differences.
struct Suspect {
    Bug bug = Bug::Other;
    std::string detail;
    int first_failure = kPartCount;  ///< the first part it does not explain; kPartCount: it reproduces everything
    int failures = 0;
    double dropout_rate = 0;
    bool scale_is_observed = false;  ///< Other only: a constant factor of the scores that no known mistake gives
    double deviation = 0;            ///< of its numbers at the first differing part; 0 if the mistake was fitted to them
    bool dropout_is_fitted = false;  ///< to the context, from weights that are not in the file
};

/// Whether one deviation is larger than another by more than what rounding makes likely.
inline bool is_clearly_farther(double far, double near) { return far > 2 * std::max(near, 0.5); }

/// Among mistakes that explain equally much, moves those to the end whose numbers are clearly farther from the recording than others'.
template <class Iterator, class Deviation>
void farther_last(Iterator begin, Iterator end, const Deviation& deviation) {
    double least = std::numeric_limits<double>::infinity();
    for (Iterator it = begin; it != end; ++it)
        if (deviation(*it) > 0) least = std::min(least, deviation(*it));
    std::stable_partition(begin, end, [&](const auto& one) { return !is_clearly_farther(deviation(one), least); });
}

enum class Undecided : std::uint8_t { Nothing, Mask, Scale, Softcap, Rotation };

struct Judgement {
    bool right = false;
    bool telling = false;           ///< some comparison could have failed
    IntendedMask intended;          ///< the one that fits, or fits best
    Outcome outcome;                ///< under that mask, without a mistake
    std::vector<Suspect> suspects;  ///< at most one per bug, best first; empty if right
    std::vector<std::string> warnings;
    std::optional<PositionBias> bias;          ///< a bias that explains the recording but is not in the file
    std::optional<double> softcap;             ///< the same of a soft cap
    std::optional<Rotation> rotation;          ///< the same of a rotation that no recorded tensor shows
    std::optional<Suspect> closer;             ///< if right within rounding: a mistake that is, too, and clearly closer
    Undecided undecided = Undecided::Nothing;  ///< what the verdict depends on but nothing reveals

    /// Whether some mistake reproduces everything.
    bool is_reproduced() const { return !suspects.empty() && suspects.front().first_failure == kPartCount; }
    bool is_explained() const { return right || is_reproduced(); }
};

/// What is known beyond the sequence itself.
struct Known {
    bool concat_may_be_projected = false;
    double short_products = 0;           ///< relative error of a product's factors
    const PositionBias* bias = nullptr;  ///< found in another sequence of the same attention
    const Rotation* rotation = nullptr;  ///< likewise
    std::optional<double> softcap{};     ///< likewise
    bool assumed = false;                ///< something not in the file is already assumed; assume nothing else
    bool swapped = false;                ///< q and k were swapped, to test whether that explains the numbers
    bool other_softcap = false;          ///< another soft cap than the file's is tried
    bool other_rotation = false;         ///< another rotation than the file's is tried
    std::stop_token stop{};              ///< ends the judgement by throwing Cancelled
    bool computed_with_32_bits = false;  ///< 64-bit numbers judged with 32-bit rounding; rules out TF32
};

Judgement judge(const Sequence& sequence, const Known& known);

}  // namespace attn::doctor
