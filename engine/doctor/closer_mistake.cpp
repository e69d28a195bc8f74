#include "engine/doctor/closer_mistake.hpp"

#include <algorithm>

#include "engine/doctor/one_head.hpp"
#include "engine/doctor/refutation.hpp"
#include "engine/doctor/rotation.hpp"

namespace attn::doctor {
namespace {

/// Whether one outcome is clearly closer to the recording than another at some part, and clearly farther from it at none. Where the other
/// is only assumed and so far from it that it is hardly confirmed, any closer one counts.
bool is_closer(const Outcome& one, const Outcome& other, const Rounding& rounding, bool is_assumed) {
    constexpr double kFar = 32;  // in bfloat16 an error of 1/16
    bool somewhere = false;
    for (std::size_t i = 0; i < kPartCount; ++i) {
        const auto &mine = one.parts[i], &theirs = other.parts[i];
        if (!theirs) continue;
        if (!mine) return false;
        const double near = mine->deviation(rounding), far = theirs->deviation(rounding);
        if (is_clearly_farther(near, far)) return false;
        const bool closer = is_clearly_farther(far, near) || (is_assumed && far > kFar && near < far);
        somewhere = somewhere || closer;
    }
    return somewhere;
}

/// Number of weights that are not determined by the others of their row.
std::int64_t free_weights(const Keep& keep, std::int64_t keys) {
    std::int64_t count = 0;
    for (auto row = keep.begin(); row != keep.end(); row += keys)
        count += std::max<std::int64_t>(0, std::count(row, row + keys, std::uint8_t{1}) - 1);
    return count;
}

double whole_deviation(const Outcome& outcome, const Rounding& rounding) {
    double sum = 0;
    for (const auto& part : outcome.parts)
        if (part) sum += part->deviation(rounding);
    return sum;
}

/// Whether no number is so far from the recording that another explanation could be clearly closer.
bool is_close(const Outcome& outcome, const Rounding& rounding) {
    return std::none_of(outcome.parts.begin(), outcome.parts.end(),
                        [&](const auto& part) { return part && is_clearly_farther(part->deviation(rounding), 0); });
}

class CloserMistake {
public:
    CloserMistake(const Trial& right, const Sequence& sequence, const IntendedMask& intended)
        : right_(right), sequence_(sequence), intended_(intended),
          is_assumed_(right.known.assumed && (sequence.rotary_base || sequence.rotary_width)),
          without_(outcome_of(sequence, correct_recipe(sequence, intended))) {}

    std::optional<Suspect> run() {
        constexpr std::int64_t kFew = 8;  // of which many mistakes may come close by chance
        if (free_weights(*intended_.keep, sequence_.keys) < kFew || is_close(without_, right_.rounding)) return std::nullopt;
        try_mistakes(sequence_, std::nullopt);
        if (right_.known.assumed && sequence_.rotation && sequence_.head_size > 0) doubt_rotation();
        return found_;
    }

private:
    Outcome outcome_of(const Sequence& sequence, const Recipe& recipe) {
        right_.expect_to_go_on();
        return evaluate(sequence, recipe, right_.rounding, shared_, kPartCount);
    }

    /// Tries all mistakes, or only this one.
    void try_mistakes(const Sequence& sequence, std::optional<Bug> only) {
        for (const Recipe& recipe : mistaken_recipes(sequence, intended_)) {
            if ((only && recipe.bug != only) || recipe.is_fitted()) continue;
            const Outcome outcome = outcome_of(sequence, recipe);
            if (outcome.first_failure() < kPartCount || !is_closer(outcome, without_, right_.rounding, is_assumed_)) continue;
            const double deviation = whole_deviation(outcome, right_.rounding);
            if (!found_ || deviation < found_->deviation)
                found_ = Suspect{.bug = *recipe.bug, .detail = recipe.detail, .deviation = deviation};
        }
    }

    /// Tries mistakes without the rotation that is assumed, and with other positions of the queries than the assumed ones.
    void doubt_rotation() {
        Sequence other = sequence_;
        other.rotation.reset();
        shared_ = {};
        try_mistakes(other, std::nullopt);
        const std::vector<Rotation> possible = hidden_rotations(other);
        for (const Rotation& rotation : possible) {
            if (rotation.first_query == rotation.first_key + other.first_query()) continue;
            other.rotation = rotation;
            shared_ = {};
            try_mistakes(other, Bug::PositionOffset);
        }
    }

    const Trial& right_;
    const Sequence& sequence_;
    const IntendedMask& intended_;
    const bool is_assumed_;  ///< a rotation that the file states but no tensor shows
    SharedProducts shared_;
    const Outcome without_;  ///< any mistake
    std::optional<Suspect> found_;
};

}  // namespace

std::optional<Suspect> closer_mistake(const Trial& right) {
    constexpr double kSixteenBits = 0x1p-12;
    if (right.rounding.unit < kSixteenBits) return std::nullopt;
    const IntendedMask& intended = right.found.intended;
    if (!is_long(right.sequence)) return CloserMistake(right, right.sequence, intended).run();
    const Sequence head = head_of(right.sequence, 0);
    IntendedMask of_head = intended;
    of_head.keep = head_of(correct_recipe(right.sequence, intended), right.sequence, 0).keep;
    return CloserMistake(right, head, of_head).run();
}

}  // namespace attn::doctor
