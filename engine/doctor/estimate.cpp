#include "engine/doctor/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops/parallel.hpp"

namespace attn::doctor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The bounds below are first-order; this factor covers higher orders, and exponentials with errors of two units.
constexpr double kSafety = 2;

std::size_t packed_place(Packing packing, std::int64_t heads, std::int64_t positions, std::int64_t size, std::int64_t h, std::int64_t p,
                         std::int64_t d) {
    const std::int64_t place = packing == Packing::Heads     ? (p * heads + h) * size + d
                               : packing == Packing::Reshape ? (h * positions + p) * size + d
                                                             : (p * size + d) * heads + h;
    return static_cast<std::size_t>(place);
}

template <class Move>
void for_heads(std::int64_t heads, std::int64_t positions, std::int64_t size, const Move& move) {
    std::size_t flat = 0;
    for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t p = 0; p < positions; ++p)
            for (std::int64_t d = 0; d < size; ++d) move(flat++, h, p, d);
}

/// Head h of the result is head from(h) of the `count` in `rows`.
template <class From>
Estimate gather_heads(const Estimate& rows, std::int64_t count, std::int64_t heads, const From& from) {
    const std::size_t size = rows.value.size() / static_cast<std::size_t>(count);
    Estimate out;
    for (std::int64_t h = 0; h < heads; ++h) {
        const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(from(h)) * size),
                   last = first + static_cast<std::ptrdiff_t>(size);
        out.value.insert(out.value.end(), rows.value.begin() + first, rows.value.begin() + last);
        if (!rows.slack.empty()) out.slack.insert(out.slack.end(), rows.slack.begin() + first, rows.slack.begin() + last);
    }
    return out;
}

}  // namespace

double least(const Rounding& rounding) { return rounding.unit >= 0x1p-11 ? 0x1p-24 : rounding.unit >= 0x1p-24 ? 1e-37 : 1e-300; }

Rounding rounding_of(const Sequence& sequence) {
    Rounding rounding;
    rounding.unit = sequence.unit;
    rounding.accumulated = std::min(sequence.unit, 0x1p-24);
    // Files of 16-bit numbers are often written by programs that compute with longer ones, so each factor was rounded afterwards.
    if (sequence.unit > 0x1p-24) rounding.product = 2 * sequence.unit;
    return rounding;
}

double sum_tolerance(const Sequence& sequence) {
    return std::max(1e-6, 4 * sequence.unit * (1 + 0.1 * static_cast<double>(sequence.keys)));
}

Estimate unpack(const Estimate& packed, Packing packing, std::int64_t heads, std::int64_t positions, std::int64_t size) {
    Estimate out;
    out.value.resize(packed.value.size());
    if (!packed.slack.empty()) out.slack.resize(packed.value.size());
    for_heads(heads, positions, size, [&](std::size_t flat, std::int64_t h, std::int64_t p, std::int64_t d) {
        const std::size_t from = packed_place(packing, heads, positions, size, h, p, d);
        out.value[flat] = packed.value[from];
        if (!packed.slack.empty()) out.slack[flat] = packed.slack[from];
    });
    return out;
}

Estimate repeat_heads(const Estimate& rows, std::int64_t stored, std::int64_t heads) {
    if (stored == heads) return rows;
    return gather_heads(rows, stored, heads, [&](std::int64_t h) { return h / (heads / stored); });
}

Estimate tile_heads(const Estimate& repeated, std::int64_t stored, std::int64_t heads) {
    return gather_heads(repeated, heads, heads, [&](std::int64_t h) { return h % stored * (heads / stored); });
}

Estimate pack(const Estimate& heads, Packing packing, std::int64_t count, std::int64_t positions, std::int64_t size) {
    Estimate out;
    out.value.resize(heads.value.size());
    if (!heads.slack.empty()) out.slack.resize(heads.value.size());
    for_heads(count, positions, size, [&](std::size_t flat, std::int64_t h, std::int64_t p, std::int64_t d) {
        const std::size_t to = packed_place(packing, count, positions, size, h, p, d);
        out.value[to] = heads.value[flat];
        if (!heads.slack.empty()) out.slack[to] = heads.slack[flat];
    });
    return out;
}

Estimate products(const Estimate& a, const Estimate& b, std::int64_t heads, std::int64_t rows, std::int64_t columns, std::int64_t size,
                  const Rounding& rounding) {
    Estimate out;
    out.value.resize(static_cast<std::size_t>(heads * rows * columns));
    out.slack.resize(out.value.size());
    // In any order, a sum of n products has an error of at most (n + 1) units of the sum of their absolute values (Higham, 2002, section
    // 3.1).
    const double share = (static_cast<double>(size) + 4) * rounding.accumulated + rounding.product;
    parallel_for(heads * rows, columns * size, [&](std::int64_t row) {
        const std::int64_t h = row / rows;
        for (std::int64_t s = 0; s < columns; ++s) {
            double sum = 0, absolute = 0, carried = 0;
            const std::size_t i0 = static_cast<std::size_t>(row * size), j0 = static_cast<std::size_t>((h * columns + s) * size);
            for (std::size_t d = 0; d < static_cast<std::size_t>(size); ++d) {
                const double x = a.value[i0 + d], y = b.value[j0 + d];
                sum += x * y;
                absolute += std::fabs(x * y);
                carried += a.slack_at(i0 + d) * std::fabs(y) + b.slack_at(j0 + d) * std::fabs(x);
            }
            const std::size_t at = static_cast<std::size_t>(row * columns + s);
            out.value[at] = sum;
            out.slack[at] = kSafety * (share * absolute + 2 * rounding.unit * std::fabs(sum)) + carried + least(rounding);
        }
    });
    return out;
}

Estimate scaled(const Estimate& x, double factor, const Rounding& rounding) {
    Estimate out;
    out.value.resize(x.value.size());
    out.slack.resize(x.value.size());
    for (std::size_t i = 0; i < out.value.size(); ++i) {
        out.value[i] = x.value[i] * factor;
        // Both the factor and the product were rounded.
        out.slack[i] = x.slack_at(i) * std::fabs(factor) + kSafety * 3 * rounding.unit * std::fabs(out.value[i]) + least(rounding);
    }
    return out;
}

Estimate masked(const Estimate& x, const Keep& keep, const std::vector<double>& bias, double bias_error, const Rounding& rounding) {
    Estimate out = x;
    if (out.slack.empty()) out.slack.assign(out.value.size(), 0);
    for (std::size_t i = 0; i < out.value.size(); ++i) {
        if (keep[i] == 0) {
            out.value[i] = -kInfinity;
            out.slack[i] = 0;
            continue;
        }
        const double added = bias.empty() ? 0 : bias[i];
        out.slack[i] += bias_error + kSafety * rounding.unit * (std::fabs(out.value[i]) + 2 * std::fabs(added)) + least(rounding);
        out.value[i] += added;
    }
    return out;
}

Estimate softmax(const Estimate& x, SoftmaxAxis axis, double temperature, const Sequence& sizes, const Rounding& rounding,
                 const std::vector<double>& sinks) {
    Estimate out;
    out.value.resize(x.value.size());
    out.slack.resize(x.value.size());
    const std::int64_t t_size = sizes.queries, s_size = sizes.keys, h_size = sizes.heads;
    const std::int64_t length = axis == SoftmaxAxis::Keys ? s_size : axis == SoftmaxAxis::Queries ? t_size : h_size;
    const std::int64_t step = axis == SoftmaxAxis::Keys ? 1 : axis == SoftmaxAxis::Queries ? s_size : t_size * s_size;
    const std::int64_t lines = static_cast<std::int64_t>(x.value.size()) / length;
    parallel_for(lines, length * 20, [&](std::int64_t line) {
        const std::int64_t start = axis == SoftmaxAxis::Keys      ? line * length
                                   : axis == SoftmaxAxis::Queries ? line / s_size * t_size * s_size + line % s_size
                                                                  : line;
        const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(start + i * step); };
        double largest = -kInfinity;
        bool nan = false;
        for (std::int64_t i = 0; i < length; ++i) {
            largest = std::max(largest, x.value[at(i)]);
            nan = nan || std::isnan(x.value[at(i)]);
        }
        if (nan || !(largest > kForbidding) || std::isinf(largest)) {
            for (std::int64_t i = 0; i < length; ++i) out.slack[at(i)] = kInfinity;
            return;
        }
        // Error of the exponent: the score's own error, and the rounding of its difference from the largest score.
        const auto noise = [&](std::int64_t i) {
            const double depth = (std::fabs(x.value[at(i)] - largest) + std::fabs(largest)) / temperature;
            return std::min(x.slack_at(at(i)) / temperature + kSafety * 2 * rounding.unit * depth, 50.0);
        };
        double sum = 0, moved = 0;
        if (axis == SoftmaxAxis::Keys && !sinks.empty()) {
            const double sink = sinks[static_cast<std::size_t>(line / t_size)];
            largest = std::max(largest, sink);
            sum = std::exp((sink - largest) / temperature);
            moved = sum * kSafety * 2 * rounding.unit * (std::fabs(sink - largest) + std::fabs(largest)) / temperature;
        }
        for (std::int64_t i = 0; i < length; ++i) {
            const double e = std::exp((x.value[at(i)] - largest) / temperature);
            out.value[at(i)] = e;
            sum += e;
            moved += e == 0 ? 0 : e * noise(i);
        }
        for (std::int64_t i = 0; i < length; ++i) {
            double& w = out.value[at(i)];
            w /= sum;
            // log w changes by (1 - w) times the noise of its own score, and by every other weight times the noise of that weight's score.
            const double carried = w == 0 ? 0 : (1 - 2 * w) * noise(i) + moved / sum;
            const double error = carried + kSafety * (rounding.unit * 8 + rounding.accumulated * static_cast<double>(length));
            out.slack[at(i)] = w * std::expm1(std::min(error, 50.0)) + least(rounding);
        }
    });
    return out;
}

Estimate weighted_rows(const Estimate& map, const Estimate& rows, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                       std::int64_t size, const Rounding& rounding) {
    Estimate out;
    out.value.resize(static_cast<std::size_t>(heads * queries * size));
    out.slack.resize(out.value.size());
    const double share = (static_cast<double>(keys) + 4) * rounding.accumulated + rounding.product;
    const auto width = static_cast<std::size_t>(size);
    parallel_for(heads * queries, keys * size, [&](std::int64_t row) {
        double *sum = &out.value[static_cast<std::size_t>(row) * width], *slack = &out.slack[static_cast<std::size_t>(row) * width];
        for (std::int64_t s = 0; s < keys; ++s) {
            const auto i = static_cast<std::size_t>(row * keys + s), j = static_cast<std::size_t>(row / queries * keys + s) * width;
            const double w = map.value[i], *x = &rows.value[j];
            for (std::size_t d = 0; d < width; ++d) {
                sum[d] += w * x[d];
                slack[d] += kSafety * share * std::fabs(w * x[d]);
            }
            const bool open = !map.slack.empty() && std::isinf(map.slack[i]);
            for (std::size_t d = 0; d < width && !map.slack.empty(); ++d) slack[d] += map.slack[i] * (open ? 1 : std::fabs(x[d]));
            for (std::size_t d = 0; d < width && !rows.slack.empty(); ++d) slack[d] += rows.slack[j + d] * std::fabs(w);
        }
        for (std::size_t d = 0; d < width; ++d) slack[d] += kSafety * 2 * rounding.unit * std::fabs(sum[d]) + least(rounding);
    });
    return out;
}

Comparison compare(const std::vector<double>& recorded, const Estimate& expected) {
    Comparison out;
    for (std::size_t i = 0; i < recorded.size(); ++i) {
        const double x = recorded[i], y = expected.value[i], slack = expected.slack_at(i);
        if (std::isinf(slack) || std::isnan(slack)) continue;
        ++out.judged;
        if (std::isfinite(x)) out.recorded_squares += x * x;
        if (x == y || (std::isnan(x) && std::isnan(y)) || (x <= kForbidding && y == -kInfinity) || (x >= -kForbidding && y == kInfinity)) {
            ++out.exact;
            continue;
        }
        const double gap = std::fabs(x - y), error = std::isnan(gap) ? kInfinity : gap;
        out.max_error = std::max(out.max_error, error);
        out.squares += error * error;
        const double excess = slack > 0 ? error / slack : kInfinity;
        out.max_excess = std::max(out.max_excess, excess);
        if (excess <= 1) continue;
        ++out.differing;
        out.nan += std::isnan(x);
        if (out.first >= 0) continue;
        out.first = static_cast<std::int64_t>(i);
        out.recorded = x;
        out.expected = y;
    }
    return out;
}

double Comparison::deviation(const Rounding& rounding) const {
    return recorded_squares == 0 ? 0 : std::sqrt(squares / recorded_squares) / rounding.unit;
}

}  // namespace attn::doctor
