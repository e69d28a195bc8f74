#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/doctor/recomputation.hpp"

namespace attn::doctor {

MaybeEstimate Recomputation::late_capped(const MaybeEstimate& masked) {
    if (!caps_after_mask()) return masked;
    masked_capped_ = true;
    MaybeEstimate capped = share(cap(*masked));
    if (!sequence_.has(Part::Masked)) return capped;
    masked_capped_ = compare(sequence_[Part::Masked], *capped).max_excess < compare(sequence_[Part::Masked], *masked).max_excess;
    return masked_capped_ ? capped : masked;
}

Estimate Recomputation::with_mask(const Estimate& from, const Keep& keep, const std::vector<double>& biases) const {
    return masked(from, keep, biases, sequence_.intent.bias_error, rounding_);
}

MaybeEstimate Recomputation::mask_pattern() {
    const Intent& intent = sequence_.intent;
    if (!sequence_.has(Part::Masked) || (!intent.given && intent.causal != true)) return nullptr;
    if (recipe_.mask == MaskUse::OfWeights) return masked_weights();
    if (recipe_.mask == MaskUse::AsZeros) return nullptr;
    if (recipe_.mask == MaskUse::WrongSign) return share(lift({sequence_[Part::Masked], {}}));
    const Keep* keep = recipe_.mask == MaskUse::BeforeSoftmax ? recipe_.keep.get() : recipe_.shown.get();
    Estimate out{sequence_[Part::Masked], {}};
    masked_capped_ = caps_after_mask() && shows_unmasked_scores();
    const double hidden = masked_capped_ ? -recipe_.cap : -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < out.value.size(); ++i) {
        const bool let_through = keep == nullptr || (*keep)[i] != 0;
        if (!let_through) out.value[i] = hidden;
        else if (out.value[i] <= kForbidding) out.value[i] = std::numeric_limits<double>::quiet_NaN();
    }
    return share(std::move(out));
}

MaybeEstimate Recomputation::masked_scores() {
    MaybeEstimate from = input(Part::Capped);
    if (from == nullptr) return mask_pattern();
    if (recipe_.mask == MaskUse::AsZeros) return share(with_zeros(*from));
    if (recipe_.mask == MaskUse::WrongSign) return share(lift(plus_bias(*from)));
    if (recipe_.mask == MaskUse::BeforeSoftmax) return late_capped(share(with_untold_bias(with_mask(*from, *recipe_.keep, bias_))));
    if (recipe_.mask == MaskUse::OfWeights) return masked_weights();
    if (recipe_.shown != nullptr) return share(with_mask(*from, *recipe_.shown, early_bias_.empty() ? sequence_.intent.bias : bias_));
    return from;
}

Estimate Recomputation::plus_bias(const Estimate& from) const { return with_mask(from, Keep(from.value.size(), 1), bias_); }

Estimate Recomputation::lift(Estimate out) const {
    for (std::size_t i = 0; i < out.value.size(); ++i)
        if ((*recipe_.shown)[i] == 0) out.value[i] = std::numeric_limits<double>::infinity();
        else if (out.value[i] >= -kForbidding) out.value[i] = std::numeric_limits<double>::quiet_NaN();
    return out;
}

MaybeEstimate Recomputation::lifted_logits() {
    MaybeEstimate from = input(Part::Capped);
    if (recipe_.lifted == Lifted::AsRecorded || from == nullptr) return input(Part::Masked);
    Estimate out = with_mask(*from, *recipe_.keep, bias_);
    // Adding 1e9 to a double loses digits below 1e-7; adding 1e5 to a 32-bit number those below 0.01.
    const double lost = rounding_.unit < 0x1p-24 ? 4e9 * 0x1p-53 : 0.02;
    for (std::size_t i = 0; i < out.value.size(); ++i) {
        if ((*recipe_.shown)[i] != 0) continue;
        if (recipe_.lifted == Lifted::EqualShares) out.value[i] = out.slack[i] = 0;
        else out.slack[i] += lost;
    }
    return share(std::move(out));
}

bool Recomputation::has_untold_bias(std::size_t cell) const { return sequence_.intent.keep[cell] == 0 && (*recipe_.keep)[cell] != 0; }

std::optional<std::size_t> Recomputation::heaviest_told(std::size_t row) const {
    const std::vector<double>& weights = sequence_[Part::Weights];
    std::optional<std::size_t> heaviest;
    for (std::size_t i = row; i < row + static_cast<std::size_t>(sequence_.keys) && !weights.empty(); ++i)
        if (!has_untold_bias(i) && (*recipe_.keep)[i] != 0 && weights[i] > 0 && (!heaviest || weights[i] > weights[*heaviest]))
            heaviest = i;
    return heaviest;
}

Estimate Recomputation::with_untold_bias(Estimate out) const {
    if (bias_.empty() || !sequence_.intent.given) return out;
    const std::vector<double>&masked = sequence_[Part::Masked], &weights = sequence_[Part::Weights];
    const auto keys = static_cast<std::size_t>(sequence_.keys);
    for (std::size_t row = 0; row < out.value.size(); row += keys) {
        const std::optional<std::size_t> told = heaviest_told(row);
        for (std::size_t i = row; i < row + keys; ++i) {
            if (!has_untold_bias(i)) continue;
            if (!masked.empty()) {
                if (std::fabs(masked[i]) < -kForbidding) out.value[i] = masked[i];
            } else if (!weights.empty() && weights[i] > 0) {
                out.value[i] = std::log(weights[i]) + (told ? out.value[*told] - std::log(weights[*told]) : 0);
                out.slack[i] = (told ? out.slack[*told] : 0) + 8 * rounding_.unit;
            }
        }
    }
    return out;
}

MaybeEstimate Recomputation::masked_weights() const {
    return sequence_.has(Part::Weights) ? share(with_zeros({sequence_[Part::Weights], {}})) : nullptr;
}

Estimate Recomputation::with_zeros(Estimate map) const {
    for (std::size_t i = 0; i < map.value.size(); ++i)
        if ((*recipe_.keep)[i] == 0) map.value[i] = 0;
    return map;
}

MaybeEstimate Recomputation::logits() {
    if (recipe_.mask == MaskUse::WrongSign) return lifted_logits();
    if (recipe_.mask == MaskUse::BeforeSoftmax || recipe_.mask == MaskUse::AsZeros) {
        MaybeEstimate from = input(Part::Masked);
        if (from == nullptr || !caps_after_mask()) return from;
        if (sequence_.has(Part::Masked)) recomputed(Part::Masked);  // determines whether they are capped
        return masked_capped_ ? from : share(cap(*from));
    }
    MaybeEstimate from = input(Part::Capped);
    // If the softmax does not use the masked scores it uses the scaled ones; if those are not recorded, masked may show them.
    if (from == nullptr && shows_unmasked_scores()) from = input(Part::Masked);
    if (from == nullptr || recipe_.mask != MaskUse::Skipped) return from;
    return share(with_mask(*from, *recipe_.keep, bias_));
}

bool Recomputation::shows_unmasked_scores() const {
    const std::vector<double>& masked = sequence_[Part::Masked];
    return !masked.empty() && std::all_of(masked.begin(), masked.end(), [](double x) { return x > kForbidding; });
}

}  // namespace attn::doctor
