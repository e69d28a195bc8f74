#include "engine/doctor/recomputation.hpp"

#include <utility>

namespace attn::doctor {

Recomputation::Recomputation(const Sequence& sequence, const Recipe& recipe, const Rounding& rounding, SharedProducts& shared,
                             FirstCapped first_capped)
    : sequence_(sequence), recipe_(recipe), rounding_(rounding), shared_(shared), first_capped_(first_capped) {
    if (recipe.bias_factor == 0) return;
    std::vector<double>& bias = sequence.intent.bias_from == Part::Masked ? bias_ : early_bias_;
    bias = sequence.intent.bias;
    for (double& x : bias) x *= recipe.bias_factor;
}

MaybeEstimate Recomputation::input(Part part) {
    MaybeEstimate& known = inputs_[static_cast<std::size_t>(part)];
    if (known == nullptr) known = sequence_.has(part) ? recorded(part) : recomputed(part);
    return known;
}

const MaybeEstimate& Recomputation::recorded(Part part) {
    MaybeEstimate& known = shared_.recorded[static_cast<std::size_t>(part)];
    if (known == nullptr) known = share({sequence_[part], {}});
    return known;
}

MaybeEstimate Recomputation::recomputed(Part part) {
    MaybeEstimate& known = recomputed_[static_cast<std::size_t>(part)];
    if (known == nullptr) known = compute(part);
    return known;
}

MaybeEstimate Recomputation::compute(Part part) {
    switch (part) {
    case Part::Q:
        return queries();
    case Part::K:
        return keys();
    case Part::V:
        return values();
    case Part::QRotated:
        return rotated_queries();
    case Part::KRotated:
        return rotated_keys();
    case Part::VRotated:
        return rotated_values();
    case Part::Scores:
        return scores();
    case Part::Scaled:
        return scaled_scores();
    case Part::Capped:
        return capped_scores();
    case Part::Masked:
        return masked_scores();
    case Part::Weights:
        return weights();
    case Part::Dropped:
        return dropped();
    case Part::Context:
        return context();
    case Part::Concat:
        return concat();
    default:
        return nullptr;
    }
}

}  // namespace attn::doctor
