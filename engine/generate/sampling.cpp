#include "engine/generate/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// Ranks tokens by logit, likeliest first and smaller ids first among equals. Lazy, because few tokens of a large vocabulary are needed.
class Likeliest {
public:
    explicit Likeliest(std::span<const float> logits) : logits_(logits), ids_(logits.size()) { std::iota(ids_.begin(), ids_.end(), 0); }
    /// The `count` likeliest.
    std::span<const std::int32_t> first(std::size_t count) {
        if (ranked_ < count) rank(ranked_ == 0 ? count : std::max({count, 4 * ranked_, kFewest}));
        return std::span(ids_).first(std::min(count, ranked_));
    }
    std::int32_t at(std::size_t rank) { return first(rank + 1).back(); }

private:
    struct More {
        std::span<const float> logits;
        bool operator()(std::int32_t a, std::int32_t b) const {
            const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
            return x > y || (x == y && a < b);
        }
    };
    static constexpr std::size_t kFewest = 64;  ///< ranked together after the first, because each time all others are gone through

    void rank(std::size_t count) {
        const auto place = [this](std::size_t rank) { return ids_.begin() + static_cast<std::ptrdiff_t>(rank); };
        count = std::min(count, ids_.size());
        std::partial_sort(place(ranked_), place(count), ids_.end(), More{logits_});
        ranked_ = count;
    }

    std::span<const float> logits_;
    std::vector<std::int32_t> ids_;  ///< the first `ranked_` in order
    std::size_t ranked_ = 0;
};

/// exp((logit - largest) / temperature) for every token, which cannot overflow and is 0 for -inf; at temperature 0 all but one are 0.
std::vector<double> weights_at(std::span<const float> logits, std::size_t likeliest, double temperature) {
    std::vector<double> weights(logits.size(), 0.0);
    const auto largest = static_cast<double>(logits[likeliest]);
    constexpr std::int64_t kGrain = 1024, kCost = 16;  // the cost of an exponential, in products
    if (temperature > 0)
        parallel_ranges(std::ssize(logits), kGrain, kCost, [&](std::int64_t first, std::int64_t last) {
            for (auto id = static_cast<std::size_t>(first); id < static_cast<std::size_t>(last); ++id)
                weights[id] = std::exp((static_cast<double>(logits[id]) - largest) / temperature);
        });
    weights[likeliest] = 1;
    return weights;
}

double sum_of(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// The effect of the sampler on a set of logits. Tokens of rank below `kept` can be drawn.
class Sampled {
public:
    Sampled(std::span<const float> logits, const SamplingSettings& settings)
        : ranking(logits), weights(weights_at(logits, static_cast<std::size_t>(ranking.at(0)), settings.temperature)), all(sum_of(weights)),
          possible(static_cast<std::size_t>(std::count_if(weights.begin(), weights.end(), is_possible))) {
        left_by_k = left_by_p = kept = possible;
        if (settings.top_k > 0) left_by_k = left_by_p = kept = std::min(possible, static_cast<std::size_t>(settings.top_k));
        if (settings.top_p < 1) left_by_p = kept = nucleus(settings.top_p);
        if (settings.min_p > 0) kept = as_likely_as(settings.min_p);
    }

    double weight(std::size_t rank) { return weights[static_cast<std::size_t>(ranking.at(rank))]; }
    /// Total weight of the tokens that can be drawn.
    double kept_weight() {
        if (kept == possible) return all;
        double sum = 0;
        for (const std::int32_t id : ranking.first(kept)) sum += weights[static_cast<std::size_t>(id)];
        return sum;
    }
    Cut cut(std::size_t rank) const {
        if (rank < kept) return Cut::None;
        if (rank < left_by_p) return Cut::MinP;
        if (rank < left_by_k) return Cut::TopP;
        return rank < possible ? Cut::TopK : Cut::Temperature;
    }

    Likeliest ranking;
    std::vector<double> weights;  ///< by id; the largest is 1
    double all;                   ///< their sum
    std::size_t possible;         ///< tokens with a nonzero weight
    std::size_t left_by_k, left_by_p, kept;

private:
    static bool is_possible(double weight) { return weight > 0; }

    /// How many of the remaining tokens have at least `share` of the largest weight; at least one.
    std::size_t as_likely_as(double share) {
        if (kept == possible)
            return static_cast<std::size_t>(
                std::count_if(weights.begin(), weights.end(), [share](double w) { return w > 0 && w >= share; }));
        std::size_t left = 1;
        while (left < kept && weight(left) >= share) ++left;
        return left;
    }
    /// How many of the likeliest tokens left by top-k together reach `share` of their total weight; at least one.
    std::size_t nucleus(double share) {
        double wanted = share * all;
        if (left_by_k < possible) {
            double left = 0;
            for (const std::int32_t id : ranking.first(left_by_k)) left += weights[static_cast<std::size_t>(id)];
            wanted = share * left;
        }
        double reached = 0;
        for (std::size_t rank = 0; rank < left_by_k; ++rank)
            if ((reached += weight(rank)) >= wanted) return rank + 1;
        return left_by_k;
    }
};

void require_logits(std::span<const float> logits) {
    if (logits.empty()) throw Error("there are no logits to draw from");
    for (std::size_t id = 0; id < logits.size(); ++id)
        if (std::isnan(logits[id]) || logits[id] == std::numeric_limits<float>::infinity())
            throw Error(fmt::format("the logit of token {} is {}: nothing can be drawn", id, std::isnan(logits[id]) ? "NaN" : "infinite"));
    if (std::isinf(*std::max_element(logits.begin(), logits.end()))) throw Error("every logit is -inf: nothing can be drawn");
}

}  // namespace

void require_sampling(const SamplingSettings& settings) {
    const auto require = [](bool good, const char* what, double value, const char* possible) {
        if (!good) throw ConfigError(fmt::format("{} is {}; expected {}", what, value, possible));
    };
    require(settings.temperature >= 0 && std::isfinite(settings.temperature), "the temperature", settings.temperature,
            "0 (always the likeliest token) or more");
    require(settings.top_k >= 0, "top-k", static_cast<double>(settings.top_k), "0 (all tokens) or more");
    require(settings.top_p > 0 && settings.top_p <= 1, "top-p", settings.top_p, "more than 0 and at most 1");
    require(settings.min_p >= 0 && settings.min_p <= 1, "min-p", settings.min_p, "0 (all tokens) to 1");
    require(settings.tokens >= 0 && settings.tokens <= kMaxSampledTokens, "the number of tokens to generate",
            static_cast<double>(settings.tokens), "0 to 1000000");
}

std::vector<double> predicted_shares(std::span<const float> logits) {
    require_logits(logits);
    const auto likeliest = static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    std::vector<double> shares = weights_at(logits, likeliest, 1);
    const double sum = sum_of(shares);
    for (double& share : shares) share /= sum;
    return shares;
}

Candidates candidates_of(std::span<const float> logits, const SamplingSettings& settings, std::size_t most) {
    require_sampling(settings);
    require_logits(logits);
    Sampled sampled(logits, settings);
    const bool as_predicted = settings.temperature == 1;
    const std::vector<double> predicted = as_predicted ? std::vector<double>() : predicted_shares(logits);
    const double kept_weight = sampled.kept_weight();
    Candidates candidates;
    const std::span<const std::int32_t> likeliest = sampled.ranking.first(most);
    for (std::size_t rank = 0; rank < likeliest.size(); ++rank) {
        const auto id = static_cast<std::size_t>(likeliest[rank]);
        const double weight = sampled.weights[id], heated = weight / sampled.all;
        const Cut cut = sampled.cut(rank);
        candidates.likeliest.push_back(
            {likeliest[rank], as_predicted ? heated : predicted[id], heated, cut == Cut::None ? weight / kept_weight : 0, cut});
    }
    candidates.kept = static_cast<std::int64_t>(sampled.kept);
    candidates.kept_share = kept_weight / sampled.all;
    if (sampled.kept < logits.size()) candidates.first_cut = sampled.cut(sampled.kept);
    return candidates;
}

std::vector<double> sampling_distribution(std::span<const float> logits, const SamplingSettings& settings) {
    require_sampling(settings);
    require_logits(logits);
    Sampled sampled(logits, settings);
    const double sum = sampled.kept_weight();
    std::vector<double> distribution(logits.size(), 0.0);
    if (sampled.kept == sampled.possible) {
        for (std::size_t id = 0; id < distribution.size(); ++id) distribution[id] = sampled.weights[id] / sum;
        return distribution;
    }
    for (const std::int32_t id : sampled.ranking.first(sampled.kept))
        distribution[static_cast<std::size_t>(id)] = sampled.weights[static_cast<std::size_t>(id)] / sum;
    return distribution;
}

}  // namespace attn
