#include "engine/doctor/emptied.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::doctor {
namespace {

/// Scores after a large number was added and subtracted, with `lost` as their additional uncertainty.
Estimate below_a_mask(const Estimate& scores, double lost) {
    Estimate out = scores;
    if (out.slack.empty()) out.slack.assign(out.value.size(), 0);
    for (double& slack : out.slack) slack += lost;
    return out;
}

bool agrees(const Estimate& candidate, const std::vector<double>& recorded, std::size_t i) {
    if (std::isnan(recorded[i])) return std::isnan(candidate.value[i]);
    return std::fabs(recorded[i] - candidate.value[i]) <= candidate.slack_at(i);
}

}  // namespace

std::vector<Estimate> fillings(const Sequence& sizes, SoftmaxAxis axis, const Estimate* unmasked, const Rounding& rounding) {
    const auto cells = static_cast<std::size_t>(sizes.map_size());
    const std::int64_t length = axis == SoftmaxAxis::Keys ? sizes.keys : axis == SoftmaxAxis::Queries ? sizes.queries : sizes.heads;
    std::vector<Estimate> out;
    for (const double value : {1 / static_cast<double>(length), 0.0, std::numeric_limits<double>::quiet_NaN()})
        out.push_back({std::vector<double>(cells, value), std::vector<double>(cells, value > 0 ? 8 * rounding.unit * value : 0)});
    if (unmasked == nullptr) return out;
    // Adding 1e9 destroys scores in all formats but double; 1e4 leaves something in float32, too.
    const double lost_in_double = 2e9 * 0x1p-53, lost_of_few = 2e4 * rounding.unit;
    out.push_back(softmax(below_a_mask(*unmasked, lost_in_double), axis, sizes.temperature, sizes, rounding));
    if (lost_of_few < 0.01 && lost_of_few > lost_in_double)
        out.push_back(softmax(below_a_mask(*unmasked, lost_of_few), axis, sizes.temperature, sizes, rounding));
    return out;
}

const Estimate& best_filling(const std::vector<Estimate>& candidates, const std::vector<double>& recorded,
                             const std::vector<std::size_t>& cells) {
    const auto agreeing = [&](const Estimate& candidate) {
        return std::count_if(cells.begin(), cells.end(), [&](std::size_t i) { return agrees(candidate, recorded, i); });
    };
    return *std::max_element(candidates.begin(), candidates.end(),
                             [&](const Estimate& a, const Estimate& b) { return agreeing(a) < agreeing(b); });
}

void fill(Estimate& out, const Estimate& filling, const std::vector<std::size_t>& cells) {
    for (const std::size_t i : cells) {
        out.value[i] = filling.value[i];
        out.slack[i] = filling.slack_at(i);
    }
}

void expect_nan(Estimate& out) {
    for (std::size_t i = 0; i < out.value.size(); ++i)
        if (std::isnan(out.value[i])) out.slack[i] = 0;
}

}  // namespace attn::doctor
