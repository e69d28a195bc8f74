#include <limits>
#include <utility>

#include "engine/doctor/recomputation.hpp"
#include "engine/doctor/softcap.hpp"

namespace attn::doctor {
namespace {

/// Whether the capped numbers are taken instead of those that are not. If both fit, that was asked for.
bool fits_better(double capped, double uncapped) { return uncapped <= 1 ? capped <= 1 : capped < uncapped; }

}  // namespace

MaybeEstimate Recomputation::scores() {
    const MaybeEstimate whole = product();
    if (whole == nullptr) return whole;
    return sequence_.has(Part::Scores) ? as_recorded(whole) : with_early_bias(Part::Scores, whole);
}

MaybeEstimate Recomputation::with_early_bias(Part part, const MaybeEstimate& from) const {
    const Intent& intent = sequence_.intent;
    if (from == nullptr || early_bias_.empty() || intent.bias_from != part) return from;
    Estimate out = with_mask(*from, Keep(from->value.size(), 1), early_bias_);
    // Where an additive mask forbids attention, the biases are not known.
    for (std::size_t i = 0; i < out.value.size() && intent.given; ++i)
        if (intent.keep[i] == 0 && early_bias_[i] == 0) out.slack[i] = std::numeric_limits<double>::infinity();
    return share(std::move(out));
}

MaybeEstimate Recomputation::product() {
    MaybeEstimate& known =
        shared_.scores[{recipe_.split, recipe_.projections_swapped, recipe_.scores_use_values, recipe_.queries_keys_swapped,
                        recipe_.queries_from_keys, recipe_.keys_tiled, recipe_.positions_as_seen}];
    if (known != nullptr) return known;
    MaybeEstimate q = input(Part::QRotated);
    MaybeEstimate k = recipe_.scores_use_values ? input(Part::V) : handed_out(Part::K, Part::KRotated, recipe_.keys_tiled);
    if (q == nullptr || k == nullptr) return nullptr;
    if (recipe_.queries_keys_swapped) std::swap(q, k);
    known = share(products(*q, *k, sequence_.heads, sequence_.queries, sequence_.keys, sequence_.head_size, rounding_));
    return known;
}

MaybeEstimate Recomputation::as_recorded(const MaybeEstimate& product) {
    // Many programs scale q, or call the scaled scores "scores".
    MaybeEstimate best = with_early_bias(Part::Scores, product);
    double least = compare(sequence_[Part::Scores], *best).max_excess;
    for (const double factor : recipe_.partial) {
        if (factor == 1 || least <= 1) continue;
        const MaybeEstimate other = with_early_bias(Part::Scores, share(doctor::scaled(*product, factor, rounding_)));
        const double excess = compare(sequence_[Part::Scores], *other).max_excess;
        if (excess > 1) continue;
        best = other;
        least = excess;
        partial_ = factor;
        scores_scaled_ = true;
    }
    const bool may_be_capped = recipe_.cap > 0 && (least > 1 || first_capped_ == FirstCapped::Scores);
    return may_be_capped ? capped_product(*product, least, best) : best;
}

MaybeEstimate Recomputation::capped_product(const Estimate& product, double least, const MaybeEstimate& best) {
    if (recipe_.cap_use == CapUse::AfterMask) return best;
    const bool scale_first = recipe_.cap_use == CapUse::AfterScale;
    MaybeEstimate capped = share(cap(scale_first ? doctor::scaled(product, recipe_.scale, rounding_) : product));
    if (!fits_better(compare(sequence_[Part::Scores], *capped).max_excess, least)) return best;
    scores_capped_ = true;
    partial_ = scale_first ? recipe_.scale : 1;
    return capped;
}

MaybeEstimate Recomputation::scaled_scores() {
    const MaybeEstimate from = input(Part::Scores);
    if (from == nullptr) return nullptr;
    if (sequence_.has(Part::Scores)) recomputed(Part::Scores);  // determines how much of the scaling they include
    const bool cap_first = recipe_.cap > 0 && recipe_.cap_use == CapUse::BeforeScale && !scores_capped_;
    MaybeEstimate scaled = cap_first ? share(doctor::scaled(cap(*from), recipe_.scale / partial_, rounding_)) : scaled_by_scale(from);
    scaled = with_early_bias(Part::Scaled, scaled);
    scaled_capped_ = scores_capped_;
    if (!caps_after_scaling() || scores_capped_ || !sequence_.has(Part::Scaled)) return scaled;
    // So may the recorded scaled scores.
    const double excess = compare(sequence_[Part::Scaled], *scaled).max_excess;
    if (excess <= 1 && first_capped_ != FirstCapped::Scaled) return scaled;
    MaybeEstimate capped = share(cap(*scaled));
    scaled_capped_ = fits_better(compare(sequence_[Part::Scaled], *capped).max_excess, excess);
    return scaled_capped_ ? capped : scaled;
}

MaybeEstimate Recomputation::scaled_by_scale(const MaybeEstimate& from) {
    const double factor = recipe_.scale / partial_;
    SharedProducts::Scaled& last = shared_.scaled;
    if (last.from != from || last.factor != factor) last = {from, share(doctor::scaled(*from, factor, rounding_)), factor};
    return last.result;
}

MaybeEstimate Recomputation::capped_scores() {
    MaybeEstimate from = input(Part::Scaled);
    if (from == nullptr) return from;
    // Both may be recorded with less precision than they were computed with.
    if (!caps_after_scaling()) return sequence_.has(Part::Capped) ? share(doctor::scaled(*from, 1, rounding_)) : from;
    // Determines whether the scaled scores are capped.
    if (sequence_.has(Part::Scaled) && recomputed(Part::Scaled) == nullptr) scaled_capped_ = scaled_are_capped(sequence_, recipe_.cap);
    return scaled_capped_ ? from : share(cap(*from));
}

Estimate Recomputation::cap(const Estimate& from) const { return softcapped(from, recipe_.cap, rounding_); }

}  // namespace attn::doctor
