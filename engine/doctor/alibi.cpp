#include "engine/doctor/alibi.hpp"

#include <algorithm>
#include <cmath>

#include "engine/plan/alibi.hpp"

namespace attn::doctor {
namespace {

/// Biases this low may stand for a weight of 0.
constexpr double kTooLow = -400;

/// How one head's biases depend on the distance to earlier keys.
struct Slope {
    double per_key = 0;  ///< change from a key to the next: positive if distance is penalised
    double error = 0;
    std::int64_t span = 0;  ///< largest difference of distances seen in a row
    bool linear = true;
    bool confirmed = false;  ///< some row has three distances
};

/// `last` is the key at query 0's own position.
Slope slope_of(const Sequence& sizes, const double* bias, const std::uint8_t* keep, std::int64_t last, double error) {
    Slope out;
    const auto rows = [&](const auto& visit) {
        for (std::int64_t t = 0; t < sizes.queries; ++t) {
            std::vector<std::int64_t> keys;
            for (std::int64_t s = 0; s <= std::min(t + last, sizes.keys - 1); ++s)
                if (keep[t * sizes.keys + s] != 0 && bias[t * sizes.keys + s] > kTooLow) keys.push_back(s);
            if (keys.size() >= 2) visit(bias + t * sizes.keys, keys);
        }
    };
    // The widest row gives the slope; all others must agree.
    rows([&](const double* row, const std::vector<std::int64_t>& keys) {
        const std::int64_t span = keys.back() - keys.front();
        out.confirmed = out.confirmed || keys.size() >= 3;
        if (span <= out.span) return;
        out.span = span;
        out.per_key = (row[keys.back()] - row[keys.front()]) / static_cast<double>(span);
        out.error = 2 * error / static_cast<double>(span);
    });
    rows([&](const double* row, const std::vector<std::int64_t>& keys) {
        for (const std::int64_t s : keys) {
            const double steps = static_cast<double>(s - keys.front()), expected = row[keys.front()] + out.per_key * steps;
            out.linear = out.linear && std::fabs(row[s] - expected) <= 2 * error + out.error * steps;
        }
    });
    return out;
}

bool are_alibis(const std::vector<Slope>& slopes) {
    const std::vector<double> usual = alibi_slopes(static_cast<std::int64_t>(slopes.size()));
    const auto is_series = [&](const auto& expected) {
        for (std::size_t h = 0; h < slopes.size(); ++h)
            if (!(std::fabs(std::fabs(slopes[h].per_key) - expected(h)) <= slopes[h].error + 1e-3 * expected(h))) return false;
        return true;
    };
    const double heads = static_cast<double>(slopes.size());
    return is_series([&](std::size_t h) { return usual[h]; }) ||
           is_series([&](std::size_t h) { return std::exp2(-8 * static_cast<double>(h + 1) / heads); });
}

}  // namespace

std::vector<double> alibi_bias(const Sequence& sizes, AlibiForm form, double factor) {
    const auto steps = [&](std::int64_t t, std::int64_t s) {
        const std::int64_t ahead = s - t - sizes.first_query();
        switch (form) {
        case AlibiForm::Distance:
            return -std::abs(ahead);
        case AlibiForm::Past:
            return std::min<std::int64_t>(ahead, 0);
        case AlibiForm::Key:
            return s;
        case AlibiForm::KeyFromLast:
            return s - sizes.keys + 1;
        case AlibiForm::Signed:
            break;
        }
        return ahead;
    };
    std::vector<double> bias;
    bias.reserve(static_cast<std::size_t>(sizes.map_size()));
    for (const double slope : alibi_slopes(sizes.heads))
        for (std::int64_t t = 0; t < sizes.queries; ++t)
            for (std::int64_t s = 0; s < sizes.keys; ++s) bias.push_back(factor * slope * static_cast<double>(steps(t, s)));
    return bias;
}

double bias_error(const Sequence& sequence) {
    double largest = 0;
    for (const double x : sequence.intent.bias)
        if (x > kForbidding) largest = std::max(largest, std::fabs(x));
    return sequence.intent.bias_error + 2 * sequence.unit * largest;
}

bool grows_with_distance(const Sequence& sizes, const std::vector<double>& bias, const Keep& keep, double error) {
    // Tries both alignments: rows of a query at another position are not linear up to it.
    for (const std::int64_t last : {sizes.first_query(), std::int64_t{0}}) {
        std::vector<Slope> slopes;
        const std::int64_t map = sizes.queries * sizes.keys;
        for (std::int64_t h = 0; h < sizes.heads; ++h)
            slopes.push_back(slope_of(sizes, bias.data() + h * map, keep.data() + h * map, last, error));
        if (!std::all_of(slopes.begin(), slopes.end(), [](const Slope& slope) { return slope.linear; })) continue;
        const bool falls = std::any_of(slopes.begin(), slopes.end(), [](const Slope& slope) { return slope.per_key > slope.error; });
        const bool grows = std::any_of(slopes.begin(), slopes.end(), [](const Slope& slope) { return slope.per_key < -slope.error; });
        const bool confirmed = std::any_of(slopes.begin(), slopes.end(), [](const Slope& slope) { return slope.confirmed; });
        if (grows && !falls && (confirmed || are_alibis(slopes))) return true;
    }
    return false;
}

}  // namespace attn::doctor
