#include <algorithm>
#include <limits>

#include "engine/doctor/dropout_evidence.hpp"
#include "engine/doctor/recomputation.hpp"

namespace attn::doctor {

MaybeEstimate Recomputation::weights() {
    const MaybeEstimate from = logits();
    if (from == nullptr) return nullptr;
    Estimate out = softmaxes(*from);
    if (recipe_.mask == MaskUse::AfterSoftmax) mask_weights(out);
    if (recipe_.mask == MaskUse::WrongSign && recipe_.lifted >= Lifted::Nan) lose_lifted_rows(out);
    if (recipe_.dropout == DropoutUse::InWeights && sequence_.has(Part::Weights)) drop(out);
    return share(std::move(out));
}

Estimate Recomputation::softmaxes(const Estimate& logits) {
    const std::vector<double> sinks = recipe_.sinks_left_out ? std::vector<double>{} : sequence_.sinks;
    Estimate out = softmax(logits, recipe_.axis, sequence_.temperature, sequence_, rounding_, sinks);
    if (recipe_.softmax_twice) {
        if (recipe_.masked_twice) out = with_mask(out, *recipe_.keep, {});
        out = softmax(out, recipe_.axis, 1, sequence_, rounding_);
    }
    if (!sequence_.has(Part::Weights)) return out;
    if (recipe_.axis != SoftmaxAxis::Keys) fill_lines(out);
    else fill_rows(out, sequence_[Part::Weights], sequence_.keys, [](const Estimate& map) { return map; });
    return out;
}

void Recomputation::mask_weights(Estimate& out) const {
    for (std::size_t i = 0; i < out.value.size(); ++i) {
        if ((*recipe_.keep)[i] != 0) continue;
        out.value[i] = 0;
        out.slack[i] =
            sequence_.has(Part::Weights) && sequence_[Part::Weights][i] <= kForbidding ? std::numeric_limits<double>::infinity() : 0;
    }
}

void Recomputation::lose_lifted_rows(Estimate& out) const {
    const double left = recipe_.lifted == Lifted::Nan ? std::numeric_limits<double>::quiet_NaN() : 0;
    const auto keys = static_cast<std::ptrdiff_t>(sequence_.keys);
    for (std::ptrdiff_t row = 0; row < std::ssize(out.value); row += keys) {
        const auto meant = recipe_.shown->begin() + row;
        if (std::find(meant, meant + keys, std::uint8_t{0}) == meant + keys) continue;
        std::fill_n(out.value.begin() + row, keys, left);
        std::fill_n(out.slack.begin() + row, keys, 0.0);
    }
}

void Recomputation::drop(Estimate& out) {
    if (recipe_.dropout_unscaled) return keep_zeros(out, sequence_[Part::Weights], sequence_);
    DropoutEvidence evidence = find_dropout(sequence_[Part::Weights], out, rounding_);
    dropout_rate_ = evidence.present() ? evidence.rate() : 0;
    if (evidence.present()) out = std::move(evidence.expected);
}

MaybeEstimate Recomputation::dropped() {
    MaybeEstimate from = input(Part::Weights);
    if (from == nullptr || !sequence_.has(Part::Dropped)) return from;
    if (recipe_.dropout_unscaled) {
        Estimate out = *from;
        keep_zeros(out, sequence_[Part::Dropped], sequence_);
        return share(std::move(out));
    }
    DropoutEvidence evidence = find_dropout(sequence_[Part::Dropped], *from, rounding_);
    if (evidence.present()) dropout_rate_ = evidence.rate();
    return share(std::move(evidence.expected));
}

}  // namespace attn::doctor
