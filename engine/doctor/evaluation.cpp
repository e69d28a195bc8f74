#include "engine/doctor/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/doctor/recomputation.hpp"

namespace attn::doctor {
namespace {

class Evaluation {
public:
    Evaluation(const Sequence& sequence, const Recipe& recipe, Recomputation parts)
        : sequence_(sequence), recipe_(recipe), parts_(std::move(parts)) {}

    Outcome run(int needed) {
        Outcome out;
        for (int i = 0; i < kPartCount; ++i) {
            const Part part = static_cast<Part>(i);
            if (!sequence_.has(part)) continue;
            const MaybeEstimate expected = parts_.recomputed(part);
            if (expected == nullptr) continue;
            Comparison comparison = compare(sequence_[part], *expected);
            if (part == Part::Weights) compare_sums(*expected, comparison);
            out.parts[static_cast<std::size_t>(i)] = comparison;
            if (i <= needed && !comparison.ok()) break;
        }
        out.dropout_rate = parts_.dropout_rate();
        out.scores_scaled = parts_.scores_scaled();
        return out;
    }

private:
    /// Rounding that moves single weights far leaves row sums alone, because a softmax divides by the sum it computed.
    void compare_sums(const Estimate& expected, Comparison& out) const {
        if (recipe_.axis != SoftmaxAxis::Keys || recipe_.mask == MaskUse::AfterSoftmax || parts_.dropout_rate() > 0) return;
        const auto keys = static_cast<std::size_t>(sequence_.keys);
        for (std::size_t row = 0; row < expected.value.size() && out.ok(); row += keys) {
            double recorded = 0, meant = 0;
            bool known = true;
            for (std::size_t i = row; i < row + keys; ++i) {
                recorded += sequence_[Part::Weights][i];
                meant += expected.value[i];
                known = known && std::isfinite(expected.slack_at(i));
            }
            if (!known || std::isnan(recorded) || std::isnan(meant) || std::fabs(recorded - meant) <= sum_tolerance(sequence_)) continue;
            ++out.differing;
            out.first = static_cast<std::int64_t>(row);
            out.recorded = sequence_[Part::Weights][row];
            out.expected = expected.value[row];
        }
    }

    const Sequence& sequence_;
    const Recipe& recipe_;
    Recomputation parts_;
};

}  // namespace

int Outcome::first_failure() const {
    for (int i = 0; i < kPartCount; ++i)
        if (const auto& part = parts[static_cast<std::size_t>(i)]; part && !part->ok()) return i;
    return kPartCount;
}

const Comparison* Outcome::first_difference() const {
    const int first = first_failure();
    return first == kPartCount ? nullptr : &*parts[static_cast<std::size_t>(first)];
}

int Outcome::failures() const {
    return static_cast<int>(std::count_if(parts.begin(), parts.end(), [](const auto& part) { return part && !part->ok(); }));
}

double Outcome::max_error() const {
    double largest = 0;
    for (const auto& part : parts)
        if (part) largest = std::max(largest, part->max_error);
    return largest;
}

std::shared_ptr<const Estimate> scaled_scores(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding,
                                              SharedProducts& shared) {
    return Recomputation(sequence, recipe, rounding, shared).input(Part::Capped);
}

std::shared_ptr<const Estimate> as_follows(const Sequence& sequence, Part part, const Recipe& recipe, const Rounding& rounding,
                                           SharedProducts& shared) {
    return Recomputation(sequence, recipe, rounding, shared).recomputed(part);
}

Outcome evaluate(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding, SharedProducts& shared, int needed) {
    const auto outcome = [&](FirstCapped first_capped) {
        return Evaluation(sequence, recipe, Recomputation(sequence, recipe, rounding, shared, first_capped)).run(needed);
    };
    Outcome best = outcome(FirstCapped::AsFits);
    if (recipe.cap == 0 || recipe.cap_use != CapUse::AfterScale) return best;
    for (const auto& [part, reading] : {std::pair{Part::Scores, FirstCapped::Scores}, std::pair{Part::Scaled, FirstCapped::Scaled}}) {
        if (best.first_failure() == kPartCount || !sequence.has(part)) continue;
        const Outcome other = outcome(reading);
        if (other.first_failure() > best.first_failure()) best = other;
    }
    return best;
}

}  // namespace attn::doctor
