#include "engine/doctor/position_bias.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attn::doctor {
namespace {

/// Assigned to a distance at which every weight is 0 or too small to be accurate.
constexpr double kNoWeight = -500;

/// Bias at distance `to` minus bias at distance `from`, according to one pair of cells.
struct Step {
    std::size_t from = 0, to = 0;
    double difference = 0, error = 0;
};

/// The biases of one head, for every distance that some cell reveals.
struct Distances {
    explicit Distances(std::size_t count) : value(count, 0), error(count, 0), told(count, false) {}
    std::vector<double> value, error;
    std::vector<bool> told;
    std::size_t cells = 0, free = 0;  ///< numbers read, and how many of those were used up to determine a bias (or a row's constant)
};

class Reader {
public:
    Reader(const Sequence& sequence, const Estimate& scaled, const Keep& keep, const Rounding& rounding)
        : sequence_(sequence), scaled_(scaled), keep_(keep), rounding_(rounding), queries_(static_cast<std::size_t>(sequence.queries)),
          keys_(static_cast<std::size_t>(sequence.keys)), count_(queries_ + keys_ - 1) {}

    std::optional<PositionBias> run() const {
        PositionBias out;
        out.values.resize(scaled_.value.size());
        std::size_t cells = 0, free = 0;
        bool any = false;
        for (std::size_t h = 0; h < static_cast<std::size_t>(sequence_.heads); ++h) {
            const Distances biases = sequence_.has(Part::Masked) ? of_masked(h) : of_weights(h);
            if (own_position_is_hidden(h, biases)) return std::nullopt;
            cells += biases.cells;
            free += biases.free;
            any = any || differ(biases);
            out.distances += static_cast<std::size_t>(std::count(biases.told.begin(), biases.told.end(), true));
            out.error = std::max(out.error, *std::max_element(biases.error.begin(), biases.error.end()));
            for (std::size_t t = 0; t < queries_; ++t)
                for (std::size_t s = 0; s < keys_; ++s) out.values[cell(h, t, s)] = biases.value[distance(t, s)];
        }
        // At least as many numbers must confirm the biases as were used to determine them.
        if (!any || cells < 2 * free || cells < free + 3) return std::nullopt;
        return out;
    }

private:
    std::size_t cell(std::size_t h, std::size_t t, std::size_t s) const { return (h * queries_ + t) * keys_ + s; }
    std::size_t distance(std::size_t t, std::size_t s) const { return s + queries_ - 1 - t; }

    /// A bias suppresses distant keys, never the query's own position; that would be a mask.
    bool own_position_is_hidden(std::size_t h, const Distances& biases) const {
        const auto first = static_cast<std::size_t>(sequence_.first_query());
        for (std::size_t t = 0; t < queries_ && t + first < keys_; ++t)
            if (keep_[cell(h, t, t + first)] != 0) return !biases.told[distance(t, t + first)];
        return false;
    }

    /// A bias varies over most distances; a mistake in one cell, or on one diagonal, does not.
    static bool differ(const Distances& biases) {
        std::vector<double> told;
        for (std::size_t d = 0; d < biases.value.size(); ++d)
            if (biases.told[d]) told.push_back(biases.value[d]);
        if (told.size() < 3) return false;
        const double error = 2 * *std::max_element(biases.error.begin(), biases.error.end());
        const auto most = std::count_if(told.begin(), told.end(), [&](double x) {
            return std::count_if(told.begin(), told.end(), [&](double y) { return std::fabs(x - y) > error; }) * 3 >=
                   static_cast<std::ptrdiff_t>(told.size());
        });
        return most * 2 >= static_cast<std::ptrdiff_t>(told.size());
    }

    /// Takes each distance's bias from its most precise cell.
    Distances of_masked(std::size_t h) const {
        Distances out(count_);
        const std::vector<double>& masked = sequence_[Part::Masked];
        for (std::size_t t = 0; t < queries_; ++t)
            for (std::size_t s = 0; s < keys_; ++s) {
                const std::size_t i = cell(h, t, s), d = distance(t, s);
                if (keep_[i] == 0 || !(masked[i] > kForbidding) || !std::isfinite(scaled_.value[i])) continue;
                const double error = scaled_.slack_at(i) + rounding_.unit * (std::fabs(masked[i]) + std::fabs(scaled_.value[i]));
                ++out.cells;
                out.free += !out.told[d];
                if (out.told[d] && out.error[d] <= error) continue;
                out.told[d] = true;
                out.value[d] = masked[i] - scaled_.value[i];
                out.error[d] = error;
            }
        return out;
    }

    /// The log weights of a row are its scores up to a constant, so comparing each cell with the row's largest weight gives the difference
    /// between two distances' biases. The biases follow from the most precise differences that connect all distances.
    Distances of_weights(std::size_t h) const {
        Distances out(count_);
        std::vector<Step> steps = steps_of(h);
        out.cells = steps.size();
        std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.error < b.error; });
        std::vector<std::size_t> root(count_);
        std::iota(root.begin(), root.end(), std::size_t{0});
        const auto root_of = [&](std::size_t d) {
            while (root[d] != d) d = root[d] = root[root[d]];
            return d;
        };
        std::vector<std::vector<Step>> tree(count_);
        for (const Step& step : steps) {
            const std::size_t a = root_of(step.from), b = root_of(step.to);
            if (a == b) continue;
            root[a] = b;
            ++out.free;
            tree[step.from].push_back(step);
            tree[step.to].push_back({step.to, step.from, -step.difference, step.error});
        }
        for (std::size_t d = 0; d < count_; ++d)
            if (!out.told[d] && !tree[d].empty()) walk(tree, d, out);
        for (std::size_t t = 0; t < queries_; ++t)
            for (std::size_t s = 0; s < keys_; ++s)
                if (keep_[cell(h, t, s)] != 0 && !out.told[distance(t, s)]) out.value[distance(t, s)] = kNoWeight;
        return out;
    }

    static void walk(const std::vector<std::vector<Step>>& tree, std::size_t first, Distances& out) {
        std::vector<std::size_t> open{first};
        out.told[first] = true;
        out.value[first] = 0;
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            for (const Step& step : tree[at]) {
                if (out.told[step.to]) continue;
                out.told[step.to] = true;
                out.value[step.to] = out.value[at] + step.difference;
                out.error[step.to] = out.error[at] + step.error;
                open.push_back(step.to);
            }
        }
    }

    std::vector<Step> steps_of(std::size_t h) const {
        constexpr double kMaxError = 0.25;
        const std::vector<double>& weights = sequence_[Part::Weights];
        const auto error = [&](std::size_t i) { return scaled_.slack_at(i) + 4 * rounding_.unit + least(rounding_) / weights[i]; };
        const auto excess = [&](std::size_t i) { return sequence_.temperature * std::log(weights[i]) - scaled_.value[i]; };
        std::vector<Step> steps;
        for (std::size_t t = 0; t < queries_; ++t) {
            std::optional<std::size_t> largest;
            for (std::size_t s = 0; s < keys_; ++s)
                if (speaks(cell(h, t, s)) && (!largest || weights[cell(h, t, s)] > weights[cell(h, t, *largest)])) largest = s;
            for (std::size_t s = 0; s < keys_ && largest; ++s) {
                const std::size_t i = cell(h, t, s), top = cell(h, t, *largest);
                if (s != *largest && speaks(i) && error(i) < kMaxError)
                    steps.push_back({distance(t, *largest), distance(t, s), excess(i) - excess(top), error(i) + error(top)});
            }
        }
        return steps;
    }
    bool speaks(std::size_t i) const { return keep_[i] != 0 && sequence_[Part::Weights][i] > 0 && std::isfinite(scaled_.value[i]); }

    const Sequence& sequence_;
    const Estimate& scaled_;
    const Keep& keep_;
    const Rounding& rounding_;
    const std::size_t queries_, keys_, count_;
};

}  // namespace

std::optional<PositionBias> observed_position_bias(const Sequence& sequence, const Estimate& scaled, const Keep& keep,
                                                   const Rounding& rounding) {
    if (!sequence.has(Part::Masked) && !sequence.has(Part::Weights)) return std::nullopt;
    return Reader(sequence, scaled, keep, rounding).run();
}

}  // namespace attn::doctor
