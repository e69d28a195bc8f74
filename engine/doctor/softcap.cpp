#include "engine/doctor/softcap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::doctor {
namespace {

double capped(double x, double cap) { return cap * std::tanh(x / cap); }

/// How far differences within rows of `scores` are from those of the log weights.
double distance_from_weights(const Sequence& sequence, const std::vector<double>& scores) {
    const std::vector<double>& weights = sequence[Part::Weights];
    const auto keys = static_cast<std::size_t>(sequence.keys);
    double sum = 0;
    for (std::size_t row = 0; row < weights.size(); row += keys) {
        const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(row);
        const auto top = row + static_cast<std::size_t>(std::max_element(begin, begin + sequence.keys) - begin);
        for (std::size_t i = row; i < row + keys; ++i)
            if (weights[i] > 0)
                sum += std::fabs(sequence.temperature * std::log(weights[i] / weights[top]) - (scores[i] - scores[top])) * weights[i];
    }
    return sum;
}

double distance_from(const std::vector<double>& next, const std::vector<double>& scores) {
    double sum = 0;
    for (std::size_t i = 0; i < next.size(); ++i)
        if (std::fabs(next[i]) < -kForbidding) sum += std::fabs(next[i] - scores[i]);
    return sum;
}

}  // namespace

Estimate softcapped(const Estimate& x, double cap, const Rounding& rounding) {
    Estimate out;
    out.value.resize(x.value.size());
    out.slack.resize(x.value.size());
    for (std::size_t i = 0; i < out.value.size(); ++i) {
        const double y = capped(x.value[i], cap);
        out.value[i] = y;
        // The curve is nowhere steeper than at the end of the uncertain interval that is nearest to 0.
        const double nearest = std::max(0.0, std::fabs(x.value[i]) - x.slack_at(i)) / cap, steepness = 1 / std::cosh(nearest);
        out.slack[i] = x.slack_at(i) * steepness * steepness + 8 * rounding.unit * std::fabs(y) + least(rounding);
    }
    return out;
}

bool scaled_are_capped(const Sequence& sequence, double cap) {
    const std::vector<double>& scaled = sequence[Part::Scaled];
    if (std::any_of(scaled.begin(), scaled.end(), [&](double x) { return std::fabs(x) > cap * (1 + 4 * sequence.unit); })) return false;
    // Of two recordings of the same stage neither is rounded differently.
    if (sequence.has(Part::Capped)) return sequence[Part::Capped] == scaled;
    std::vector<double> once = scaled;
    for (double& x : once) x = capped(x, cap);
    if (sequence.has(Part::Masked)) return distance_from(sequence[Part::Masked], scaled) < distance_from(sequence[Part::Masked], once);
    return sequence.has(Part::Weights) && distance_from_weights(sequence, scaled) < distance_from_weights(sequence, once);
}

std::optional<double> best_cap(double without, double left, const std::function<double(double)>& squares) {
    constexpr double kLeast = 1, kMost = 500, kStep = 1.5;
    double best = 0, least = std::numeric_limits<double>::infinity();
    for (double cap = kLeast; cap < kMost; cap *= kStep) {
        const double sum = squares(cap);
        if (!(sum < least)) continue;
        least = sum;
        best = cap;
    }
    if (!(least < without * std::max(0.5, left))) return std::nullopt;
    // Golden-section search in the logarithm.
    const double share = (std::sqrt(5.0) - 1) / 2;
    double low = std::log(best / kStep), high = std::log(best * kStep);
    double a = high - share * (high - low), b = low + share * (high - low);
    double at_a = squares(std::exp(a)), at_b = squares(std::exp(b));
    while (high - low > 1e-6) {
        if (at_a < at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - share * (high - low);
            at_a = squares(std::exp(a));
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + share * (high - low);
            at_b = squares(std::exp(b));
        }
    }
    return std::min(at_a, at_b) < left * without ? std::optional(std::exp((low + high) / 2)) : std::nullopt;
}

std::vector<double> likely_caps(double measured) {
    std::vector<double> out;
    for (const double usual : {50.0, 30.0, 20.0})
        if (std::fabs(measured - usual) < 0.05 * usual) out.push_back(usual);
    const double magnitude = std::pow(10, std::floor(std::log10(measured)));
    for (const double digits : {1.0, 10.0, 100.0}) out.push_back(std::round(measured / magnitude * digits) / digits * magnitude);
    out.push_back(measured);
    return out;
}

}  // namespace attn::doctor
