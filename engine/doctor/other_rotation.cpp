#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "engine/doctor/assumptions.hpp"
#include "engine/doctor/refutation.hpp"
#include "engine/doctor/rotary_pairs.hpp"
#include "engine/doctor/rotation.hpp"

namespace attn::doctor {
namespace {

/// A way to rotate that differs in one thing from what the file says.
struct OtherRotation {
    std::optional<double> base;
    std::optional<std::int64_t> width;
    std::optional<bool> halves;
    std::string words;
};

const char* pairs_words(bool halves) { return halves ? "pairs of the two halves" : "pairs of neighbours"; }

std::vector<OtherRotation> other_rotations(const Trial& trial) {
    const auto& base = trial.sequence.rotary_base;
    const auto& width = trial.sequence.rotary_width;
    const auto& halves = trial.sequence.rotary_halves;
    std::vector<OtherRotation> out;
    for (const double other : {10000.0, 500000.0, 1000000.0})
        if (base && other != *base)
            out.push_back({other, width, halves,
                           fmt::format("q and k are rotated with base {:g}, but the file says rope_theta = {:g}.", other, *base)});
    for (const std::int64_t other : usual_rotary_widths(trial.sequence.head_size))
        if (width && other != *width)
            out.push_back({base, other, halves,
                           fmt::format("q and k are rotated over {} dimensions, but the file says {} of {}.",
                                       other == trial.sequence.head_size ? fmt::format("all {}", other) : fmt::format("{}", other), *width,
                                       trial.sequence.head_size)});
    if (halves)
        out.push_back({base, width, !*halves,
                       fmt::format("q and k are rotated in {}, but the file says in {}.", pairs_words(!*halves), pairs_words(*halves))});
    if (!width || *width >= trial.sequence.head_size) return out;
    // base^(-2i/D) is base^(R/D) to the power of -2i/R.
    const double share = static_cast<double>(*width) / static_cast<double>(trial.sequence.head_size);
    for (const double other : base ? std::vector<double>{*base} : std::vector<double>{10000, 500000, 1000000})
        out.push_back({std::pow(other, share), width, halves,
                       fmt::format("The frequencies of q and k are those of a rotation over all {0} dimensions, {1:g}^(-2i/{0}); over "
                                   "{2} they are {1:g}^(-2i/{2}).",
                                   trial.sequence.head_size, other, *width)});
    return out;
}

/// Judges what q and k are rotated by with what the file says they should be. `seen` says where and at which positions.
void blame_rotation(Trial& trial, Rotation seen, const std::string& words) {
    Sequence meant = trial.sequence;
    seen.base = trial.sequence.rotary_base.value_or(seen.base);
    seen.width = trial.sequence.rotary_width.value_or(seen.width);
    seen.halves = trial.sequence.rotary_halves.value_or(seen.halves);
    meant.rotation = seen;
    Trial with_meant(meant, trial.known);
    find_mask(with_meant, intended_masks(meant));
    if (!with_meant.found.right) trial.found = std::move(with_meant.found);
    trial.found.right = false;
    trial.found.suspects = {{Bug::Other, words}};
}

}  // namespace

bool find_other_rotation(Trial& trial) {
    if (trial.sequence.rotation || trial.known.assumed || trial.known.other_rotation || !differs_in_many_cells(trial)) return false;
    for (const OtherRotation& try_this : other_rotations(trial)) {
        Sequence other = trial.sequence;
        other.rotary_base = try_this.base;
        other.rotary_width = try_this.width;
        other.rotary_halves = try_this.halves;
        other.rotation = visible_rotation(other, trial.rounding);
        if (!other.rotation) {
            const std::vector<Rotation> hidden = hidden_rotations(other);
            if (!hidden.empty()) other.rotation = hidden.front();
        }
        Known known = assuming(trial);
        known.other_rotation = true;
        if (!other.rotation || !may_be_right(trial, other, known) || !judge_as_given(other, known).right) continue;
        blame_rotation(trial, *other.rotation, try_this.words);
        return true;
    }
    return false;
}

bool find_backward_rotation(Trial& trial) {
    if (trial.sequence.rotation || trial.known.other_rotation) return false;
    const std::optional<Rotation> meant = backward_rotation(trial.sequence, trial.rounding);
    if (!meant) return false;
    Sequence turned = trial.sequence;
    turned.rotation = meant;
    trial.found = judge_as_given(turned, assuming(trial));
    trial.found.right = false;
    trial.found.suspects = {
        {Bug::Other, fmt::format("q and k are rotated by the negative angles of their positions, with base {:g}: the sign of "
                                 "the sines is wrong.",
                                 meant->base)}};
    return true;
}

}  // namespace attn::doctor
