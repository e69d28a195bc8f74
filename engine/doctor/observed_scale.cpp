#include "engine/doctor/observed_scale.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/doctor/estimate.hpp"
#include "engine/doctor/rotation.hpp"

namespace attn::doctor {
namespace {

/// A factor, and the distance between the numbers it was derived from.
struct Reading {
    double spread = 0, factor = 0;
};

/// The median of the readings with at least half the largest distance, so that a single wrong number has no effect.
std::optional<double> typical(std::vector<Reading> readings) {
    double widest = 0;
    for (const Reading& reading : readings) widest = std::max(widest, reading.spread);
    std::erase_if(readings, [&](const Reading& reading) { return !(reading.spread > 0) || reading.spread < widest / 2; });
    if (readings.empty()) return std::nullopt;
    const auto middle = readings.begin() + static_cast<std::ptrdiff_t>(readings.size() / 2);
    std::nth_element(readings.begin(), middle, readings.end(), [](const Reading& a, const Reading& b) { return a.factor < b.factor; });
    return middle->factor;
}

std::optional<double> scaled_over_scores(const std::vector<double>& scaled, const std::vector<double>& scores) {
    std::vector<Reading> readings;
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (scaled[i] > kForbidding && std::isfinite(scaled[i]) && std::isfinite(scores[i]))
            readings.push_back({std::fabs(scores[i]), scaled[i] / scores[i]});
    return typical(std::move(readings));
}

/// The factor under which capped scores are `seen` apart, divided by the temperature like the cap; grows with `seen` as `low` <= 0 <=
/// `high`.
double factor_before_cap(double low, double high, double seen, double cap) {
    double least = 0, most = 1e6;
    for (int step = 0; step < 200; ++step) {
        const double middle = (least + most) / 2;
        const double apart = cap * (std::tanh(middle * high / cap) - std::tanh(middle * low / cap));
        (apart < seen ? least : most) = middle;
    }
    return least;
}

/// From two cells in every row: those whose scores are farthest apart, among weights large enough to have accurate digits.
std::optional<double> factor_behind_weights(const Sequence& sequence, const std::vector<double>& scores, const std::vector<double>& bias) {
    constexpr double kTellingWeight = 1e-4;
    const std::vector<double>& weights = sequence[Part::Weights];
    const auto keys = static_cast<std::size_t>(sequence.keys);
    std::vector<Reading> readings;
    for (std::size_t row = 0; row < weights.size(); row += keys) {
        std::optional<std::size_t> low, high;
        for (std::size_t i = row; i < row + keys; ++i) {
            if (!(weights[i] > kTellingWeight) || !std::isfinite(scores[i])) continue;
            if (!low || scores[i] < scores[*low]) low = i;
            if (!high || scores[i] > scores[*high]) high = i;
        }
        if (!low || *low == *high) continue;
        const double spread = scores[*high] - scores[*low], added = bias.empty() ? 0 : bias[*high] - bias[*low];
        const double seen = std::log(weights[*high] / weights[*low]) - added / sequence.temperature;
        if (!sequence.softcap) readings.push_back({spread, seen / spread});
        else if (scores[*low] <= 0 && scores[*high] >= 0)
            readings.push_back({spread, factor_before_cap(scores[*low], scores[*high], seen, *sequence.softcap / sequence.temperature)});
    }
    return typical(std::move(readings));
}

/// Capped scores as they were before; NaN where they reach the cap.
std::vector<double> before_cap(const Sequence& sequence, std::vector<double> scores) {
    if (sequence.softcap)
        for (double& x : scores)
            if (x > kForbidding) x = *sequence.softcap * std::atanh(x / *sequence.softcap);
    return scores;
}

}  // namespace

std::optional<double> observed_scale(const Sequence& sequence) {
    std::vector<double> scores = sequence[Part::Scores];
    const bool recorded =
        (sequence.has(Part::Q) || sequence.has(Part::QRotated)) && (sequence.has(Part::K) || sequence.has(Part::KRotated));
    const Intent& intent = sequence.intent;
    const std::vector<double> late_bias = intent.bias_from == Part::Masked ? intent.bias : std::vector<double>{};
    // Scores with a bias are not the products.
    if (recorded && (intent.bias.empty() || !sequence.has(Part::Scores) || intent.bias_from != Part::Scores))
        scores = products({final_queries(sequence), {}}, {final_keys(sequence), {}}, sequence.heads, sequence.queries, sequence.keys,
                          sequence.head_size, rounding_of(sequence))
                     .value;
    if (scores.empty()) return std::nullopt;
    std::optional<double> factor;
    if (!intent.bias.empty() && intent.bias_from == Part::Scaled) return std::nullopt;
    if (sequence.has(Part::Scaled)) factor = scaled_over_scores(sequence[Part::Scaled], scores);
    else if (sequence.has(Part::Masked) && late_bias.empty())
        factor = scaled_over_scores(before_cap(sequence, sequence[Part::Masked]), scores);
    else if (sequence.has(Part::Weights)) factor = factor_behind_weights(sequence, scores, late_bias);
    if (!factor || !(*factor > 0) || !std::isfinite(*factor)) return std::nullopt;
    const bool softened = !sequence.has(Part::Scaled) && !(sequence.has(Part::Masked) && late_bias.empty());
    return softened ? *factor * sequence.temperature : *factor;
}

}  // namespace attn::doctor
