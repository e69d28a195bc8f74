#include "engine/doctor/observed_scale.hpp"

#include <cmath>

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {
namespace {

std::optional<double> ratio_at_largest(const std::vector<double>& scaled, const std::vector<double>& scores) {
    std::size_t largest = 0;
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (std::fabs(scores[i]) > std::fabs(scores[largest])) largest = i;
    if (!(std::fabs(scores[largest]) > 0) || !std::isfinite(scaled[largest])) return std::nullopt;
    return scaled[largest] / scores[largest];
}

/// From the two cells of a row whose scores lie furthest apart, among those with a weight that has digits left.
std::optional<double> factor_behind_weights(const std::vector<double>& weights, const std::vector<double>& scores, std::int64_t keys) {
    constexpr double kTellingWeight = 1e-4;
    double widest = 0;
    std::optional<double> factor;
    for (std::size_t row = 0; row < weights.size(); row += static_cast<std::size_t>(keys)) {
        std::optional<std::size_t> low, high;
        for (std::size_t i = row; i < row + static_cast<std::size_t>(keys); ++i) {
            if (!(weights[i] > kTellingWeight) || !std::isfinite(scores[i])) continue;
            if (!low || scores[i] < scores[*low]) low = i;
            if (!high || scores[i] > scores[*high]) high = i;
        }
        if (!low || !(scores[*high] - scores[*low] > widest)) continue;
        widest = scores[*high] - scores[*low];
        factor = std::log(weights[*high] / weights[*low]) / widest;
    }
    return factor;
}

}  // namespace

std::optional<double> scaled_over_scores(const Sequence& sequence) {
    if (!sequence.has(Part::Scores) || !sequence.has(Part::Scaled)) return std::nullopt;
    return ratio_at_largest(sequence[Part::Scaled], sequence[Part::Scores]);
}

std::optional<double> observed_scale(const Sequence& sequence) {
    std::vector<double> scores = sequence[Part::Scores];
    if (sequence.has(Part::Q) && sequence.has(Part::K))
        scores = products({sequence[Part::Q], {}}, {sequence[Part::K], {}}, sequence.heads, sequence.queries, sequence.keys,
                          sequence.head_size, rounding_of(sequence))
                     .value;
    if (scores.empty()) return std::nullopt;
    std::optional<double> factor;
    if (sequence.has(Part::Scaled)) factor = ratio_at_largest(sequence[Part::Scaled], scores);
    else if (sequence.has(Part::Weights) && sequence.intent.bias.empty())
        factor = factor_behind_weights(sequence[Part::Weights], scores, sequence.keys);
    if (!factor || !(*factor > 0) || !std::isfinite(*factor)) return std::nullopt;
    return sequence.has(Part::Scaled) ? *factor : *factor * sequence.temperature;
}

}  // namespace attn::doctor
