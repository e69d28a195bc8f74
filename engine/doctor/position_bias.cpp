#include "engine/doctor/position_bias.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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
    std::size_t refuted = 0;          ///< numbers that do not agree with the bias of their distance
    std::size_t cells = 0, free = 0;  ///< numbers read, and how many of those were used up to determine a bias (or a row's constant)
};

class Reader {
public:
    Reader(const Sequence& sequence, Part part, const Estimate& without, const Keep& keep, const Rounding& rounding, BiasAxis axis)
        : sequence_(sequence), part_(part), without_(without), keep_(keep), rounding_(rounding), by_key_(axis == BiasAxis::Key),
          queries_(static_cast<std::size_t>(sequence.queries)), keys_(static_cast<std::size_t>(sequence.keys)),
          count_(by_key_ ? keys_ : queries_ + keys_ - 1) {}

    std::optional<PositionBias> run() const {
        PositionBias out;
        out.from = part_ == Part::Weights ? Part::Masked : part_;
        out.values.resize(without_.value.size());
        std::size_t cells = 0, free = 0, refuted = 0;
        bool any = false;
        for (std::size_t h = 0; h < static_cast<std::size_t>(sequence_.heads); ++h) {
            const Distances biases = part_ == Part::Weights ? of_weights(h) : of_scores(h);
            const bool linear = is_linear(biases);
            if (own_position_is_hidden(h, biases) || (by_key_ && !linear)) return std::nullopt;
            cells += biases.cells;
            refuted += biases.refuted;
            free += linear ? std::min<std::size_t>(2, biases.free) : biases.free;
            any = any || (linear ? grows(biases) : differ(biases));
            out.distances += static_cast<std::size_t>(std::count(biases.told.begin(), biases.told.end(), true));
            out.error = std::max(out.error, *std::max_element(biases.error.begin(), biases.error.end()));
            for (std::size_t t = 0; t < queries_; ++t)
                for (std::size_t s = 0; s < keys_; ++s) out.values[cell(h, t, s)] = biases.value[place(t, s)];
        }
        // At least as many numbers must confirm the biases as were used to determine them.
        if (!any || cells < 2 * free || cells < free + 3 || 2 * refuted > cells) return std::nullopt;
        return out;
    }

private:
    std::size_t cell(std::size_t h, std::size_t t, std::size_t s) const { return (h * queries_ + t) * keys_ + s; }
    std::size_t place(std::size_t t, std::size_t s) const { return by_key_ ? s : s + queries_ - 1 - t; }

    /// A bias suppresses distant keys, never the query's own position; that would be a mask.
    bool own_position_is_hidden(std::size_t h, const Distances& biases) const {
        const auto first = static_cast<std::size_t>(sequence_.first_query());
        for (std::size_t t = 0; t < queries_ && t + first < keys_; ++t)
            if (keep_[cell(h, t, t + first)] != 0) return !biases.told[place(t, t + first)];
        return false;
    }

    /// Whether these biases follow from one number per head, as ALiBi's do.
    bool is_linear(const Distances& biases) const {
        std::vector<std::size_t> told;
        for (std::size_t i = 0; i < biases.value.size(); ++i)
            if (biases.told[i]) told.push_back(i);
        if (!by_key_) return told.size() >= 2 && is_linear_up_to_itself(biases, told);
        if (told.size() < 3) return false;
        if (is_line(biases, told)) return true;
        // Padding at either end has no bias, and the first key that is none is at position 0.
        const auto none = [&](std::size_t i) { return std::fabs(biases.value[i]) <= largest_error(biases); };
        while (told.size() > 1 && none(told.back())) told.pop_back();
        while (told.size() > 1 && none(told[0]) && none(told[1])) told.erase(told.begin());
        return is_line(biases, told);
    }

    /// By distance: up to the query's own position, and beyond it the same, the opposite, or none.
    bool is_linear_up_to_itself(const Distances& biases, const std::vector<std::size_t>& told) const {
        const std::size_t own = queries_ - 1 + static_cast<std::size_t>(sequence_.first_query());
        const auto ahead = std::upper_bound(told.begin(), told.end(), own);
        const std::vector<std::size_t> past(told.begin(), ahead);
        if (past.size() < 2) return false;
        const double step = step_of(biases, past), from = biases.value[past.front()] + step * static_cast<double>(own - past.front());
        const double slopes[] = {step, -step, 0};
        return is_line(biases, past) && std::any_of(std::begin(slopes), std::end(slopes), [&](double slope) {
                   return std::all_of(ahead, told.end(), [&](std::size_t i) {
                       return std::fabs(biases.value[i] - from - slope * static_cast<double>(i - own)) <= 4 * largest_error(biases);
                   });
               });
    }

    static double step_of(const Distances& biases, const std::vector<std::size_t>& at) {
        return (biases.value[at.back()] - biases.value[at.front()]) / static_cast<double>(at.back() - at.front());
    }

    bool is_line(const Distances& biases, const std::vector<std::size_t>& at) const {
        if (at.size() < 2) return true;
        const double first = biases.value[at.front()], step = step_of(biases, at);
        return std::all_of(at.begin(), at.end(), [&](std::size_t i) {
            return std::fabs(biases.value[i] - first - step * static_cast<double>(i - at.front())) <= 4 * largest_error(biases);
        });
    }

    /// Programs round the biases, too.
    double largest_error(const Distances& biases) const {
        double largest = 0;
        for (const double x : biases.value)
            if (x > kNoWeight) largest = std::max(largest, std::fabs(x));
        return *std::max_element(biases.error.begin(), biases.error.end()) + rounding_.unit * largest;
    }

    /// By more than the rounding of 16-bit numbers, of which a line always takes some, may bring about.
    bool grows(const Distances& biases) const {
        const double clearly = part_ == Part::Weights ? 8 : 2;
        double least = std::numeric_limits<double>::infinity(), most = -least;
        for (std::size_t i = 0; i < biases.value.size(); ++i) {
            if (!biases.told[i]) continue;
            least = std::min(least, biases.value[i]);
            most = std::max(most, biases.value[i]);
        }
        return most - least > clearly * *std::max_element(biases.error.begin(), biases.error.end());
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
    Distances of_scores(std::size_t h) const {
        Distances out(count_);
        const std::vector<double>& scores = sequence_[part_];
        for (std::size_t t = 0; t < queries_; ++t)
            for (std::size_t s = 0; s < keys_; ++s) {
                const std::size_t i = cell(h, t, s), d = place(t, s);
                if (keep_[i] == 0 || !(scores[i] > kForbidding) || !std::isfinite(without_.value[i])) continue;
                const double error = without_.slack_at(i) + rounding_.unit * (std::fabs(scores[i]) + std::fabs(without_.value[i]));
                ++out.cells;
                out.free += !out.told[d];
                if (out.told[d] && out.error[d] <= error) continue;
                out.told[d] = true;
                out.value[d] = scores[i] - without_.value[i];
                out.error[d] = error;
            }
        for (std::size_t t = 0; t < queries_; ++t)
            for (std::size_t s = 0; s < keys_; ++s) {
                const std::size_t i = cell(h, t, s), d = place(t, s);
                if (keep_[i] == 0 || !(scores[i] > kForbidding) || !std::isfinite(without_.value[i])) continue;
                const double error = without_.slack_at(i) + out.error[d] + rounding_.unit * std::fabs(out.value[d]);
                out.refuted += std::fabs(scores[i] - without_.value[i] - out.value[d]) > 4 * error;
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
                if (keep_[cell(h, t, s)] != 0 && !out.told[place(t, s)]) out.value[place(t, s)] = kNoWeight;
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
        const auto error = [&](std::size_t i) { return without_.slack_at(i) + 4 * rounding_.unit + least(rounding_) / weights[i]; };
        const auto excess = [&](std::size_t i) { return sequence_.temperature * std::log(weights[i]) - without_.value[i]; };
        std::vector<Step> steps;
        for (std::size_t t = 0; t < queries_; ++t) {
            std::optional<std::size_t> largest;
            for (std::size_t s = 0; s < keys_; ++s)
                if (speaks(cell(h, t, s)) && (!largest || weights[cell(h, t, s)] > weights[cell(h, t, *largest)])) largest = s;
            for (std::size_t s = 0; s < keys_ && largest; ++s) {
                const std::size_t i = cell(h, t, s), top = cell(h, t, *largest);
                if (s != *largest && speaks(i) && error(i) < kMaxError)
                    steps.push_back({place(t, *largest), place(t, s), excess(i) - excess(top), error(i) + error(top)});
            }
        }
        return steps;
    }
    bool speaks(std::size_t i) const { return keep_[i] != 0 && sequence_[Part::Weights][i] > 0 && std::isfinite(without_.value[i]); }

    const Sequence& sequence_;
    const Part part_;
    const Estimate& without_;
    const Keep& keep_;
    const Rounding& rounding_;
    const bool by_key_;
    const std::size_t queries_, keys_, count_;
};

}  // namespace

std::optional<PositionBias> observed_position_bias(const Sequence& sequence, Part part, const Estimate& without, const Keep& keep,
                                                   const Rounding& rounding, BiasAxis axis) {
    return Reader(sequence, part, without, keep, rounding, axis).run();
}

}  // namespace attn::doctor
