#include "engine/reference/maths.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/tensor/error.hpp"

namespace attn::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// x [B,T,in]: the size of its last axis, and the product of the others.
std::int64_t width_of(const Tensor<double>& x) { return x.shape()[x.shape().rank() - 1].size; }
std::int64_t rows_of(const Tensor<double>& x) { return width_of(x) == 0 ? 0 : x.size() / width_of(x); }

/// Numbers of a matrix that are converted at a time, few enough to stay in the cache while all rows are multiplied.
constexpr std::int64_t kNumbersAtOnce = 1 << 16, kFewestOutputs = 16;

/// y[o] = Σ_i x[i] W[i,o] + b[o], w [in,outs]
void linear_row(const double* x, std::int64_t in, const std::vector<double>& w, std::int64_t outs, const double* bias, double* y) {
    for (std::int64_t o = 0; o < outs; ++o) y[o] = 0;
    for (std::int64_t i = 0; i < in; ++i)
        for (std::int64_t o = 0; o < outs; ++o) y[o] += x[i] * w[static_cast<std::size_t>(i * outs + o)];
    if (bias == nullptr) return;
    for (std::int64_t o = 0; o < outs; ++o) y[o] += bias[o];
}

/// p[s] = exp(z[s] - max z) / Σ exp(z - max z) over the cells with keep(s); other cells are 0, and all are 0 if max z is -inf. A NaN in a
/// kept cell makes every kept cell NaN.
template <class Keep>
void softmax_row(const double* z, double* p, std::int64_t n, Keep keep) {
    double largest = -kInfinity;
    bool has_nan = false;
    for (std::int64_t s = 0; s < n; ++s) {
        p[s] = 0;
        if (!keep(s)) continue;
        has_nan = has_nan || std::isnan(z[s]);
        if (z[s] > largest) largest = z[s];
    }
    if (largest == -kInfinity && !has_nan) return;
    double sum = 0;
    for (std::int64_t s = 0; s < n; ++s)
        if (keep(s)) sum += p[s] = std::exp(z[s] - largest);
    for (std::int64_t s = 0; s < n; ++s)
        if (keep(s)) p[s] /= sum;
}

}  // namespace

Tensor<double> linear(const Tensor<double>& x, const LinearMap& map, Dim out, const std::stop_token& stop) {
    const std::int64_t in = width_of(x), at_once = std::max(kFewestOutputs, kNumbersAtOnce / std::max<std::int64_t>(in, 1));
    Tensor<double> y({x.shape()[0], x.shape()[1], out});
    std::vector<double> some;
    for (std::int64_t first = 0; first < out.size; first += at_once) {
        const std::int64_t outs = std::min(at_once, out.size - first);
        some.resize(static_cast<std::size_t>(in * outs));
        copy_numbers(map.weight.columns_from(first, outs), some.data());
        if (stop.stop_requested()) throw Cancelled();
        for (std::int64_t row = 0; row < rows_of(x); ++row)
            linear_row(x.data() + row * in, in, some, outs, map.bias == nullptr ? nullptr : map.bias + first,
                       y.data() + row * out.size + first);
    }
    return y;
}

Tensor<double> split_heads(const Tensor<double>& packed, Dim heads, Axis position) {
    const std::int64_t batch = packed.shape()[0].size, positions = packed.shape()[1].size, head_size = width_of(packed) / heads.size;
    Tensor<double> y({{Axis::B, batch}, heads, {position, positions}, {Axis::D, head_size}});
    for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t h = 0; h < heads.size; ++h)
            for (std::int64_t t = 0; t < positions; ++t)
                for (std::int64_t d = 0; d < head_size; ++d) y(b, h, t, d) = packed(b, t, h * head_size + d);
    return y;
}

Tensor<double> layer_norm(const Tensor<double>& x, const double* gamma, const double* beta, double eps) {
    Tensor<double> y(x.shape());
    const std::int64_t n = width_of(x);
    for (std::int64_t row = 0; row < rows_of(x); ++row) {
        const double* in = x.data() + row * n;
        double* out = y.data() + row * n;
        double mean = 0, variance = 0;
        for (std::int64_t c = 0; c < n; ++c) mean += in[c] / static_cast<double>(n);
        for (std::int64_t c = 0; c < n; ++c) variance += (in[c] - mean) * (in[c] - mean) / static_cast<double>(n);
        for (std::int64_t c = 0; c < n; ++c) out[c] = gamma[c] * (in[c] - mean) / std::sqrt(variance + eps) + beta[c];
    }
    return y;
}

Tensor<double> rms_norm(const Tensor<double>& x, const double* gamma, double eps, double plus) {
    Tensor<double> y(x.shape());
    const std::int64_t n = width_of(x);
    for (std::int64_t row = 0; row < rows_of(x); ++row) {
        const double* in = x.data() + row * n;
        double* out = y.data() + row * n;
        double mean_square = 0;
        for (std::int64_t c = 0; c < n; ++c) mean_square += in[c] * in[c] / static_cast<double>(n);
        for (std::int64_t c = 0; c < n; ++c) out[c] = (gamma[c] + plus) * in[c] / std::sqrt(mean_square + eps);
    }
    return y;
}

Tensor<double> rms_norm_of_all_heads(const Tensor<double>& x, const double* gamma, double eps, double plus) {
    Tensor<double> y(x.shape());
    const std::int64_t heads = x.shape()[1].size, size = x.shape()[3].size;
    for (std::int64_t b = 0; b < x.shape()[0].size; ++b)
        for (std::int64_t p = 0; p < x.shape()[2].size; ++p) {
            double mean_square = 0;
            for (std::int64_t h = 0; h < heads; ++h)
                for (std::int64_t d = 0; d < size; ++d) mean_square += x(b, h, p, d) * x(b, h, p, d) / static_cast<double>(heads * size);
            for (std::int64_t h = 0; h < heads; ++h)
                for (std::int64_t d = 0; d < size; ++d)
                    y(b, h, p, d) = (gamma[h * size + d] + plus) * x(b, h, p, d) / std::sqrt(mean_square + eps);
        }
    return y;
}

double capped(double x, double cap) { return cap * std::tanh(x / cap); }

Tensor<double> lowered_by_distance(const Tensor<double>& scaled, double factor, std::int64_t first) {
    const Shape& shape = scaled.shape();
    Tensor<double> y(shape);
    std::int64_t power = 1;
    while (2 * power <= shape[1].size) power *= 2;
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h) {
            const double exponent = h < power ? 8.0 * static_cast<double>(h + 1) / static_cast<double>(power)
                                              : 8.0 * static_cast<double>(2 * (h - power) + 1) / static_cast<double>(2 * power);
            const double slope = factor * std::pow(2.0, -exponent);
            for (std::int64_t t = 0; t < shape[2].size; ++t)
                for (std::int64_t s = 0; s < shape[3].size; ++s)
                    y(b, h, t, s) = scaled(b, h, t, s) - slope * static_cast<double>(first + t - s);
        }
    return y;
}

namespace {

/// The bucket of a key `behind` = s - t positions after the query: one bucket for each of the first distances, then buckets that grow by a
/// constant factor up to `farthest`. Keys after the query have buckets of their own, or share bucket 0.
std::int64_t range_of(const BucketRule& rule, std::int64_t behind) {
    std::int64_t ranges = rule.count, first = 0, distance = behind < 0 ? -behind : 0;
    if (rule.both_ways) {
        ranges = rule.count / 2;
        if (behind > 0) first = ranges;
        distance = behind < 0 ? -behind : behind;
    }
    const std::int64_t single = ranges / 2;
    if (distance < single) return first + distance;
    const double steps = static_cast<double>(ranges - single);
    // Bucket boundaries in single precision, as in the trained models.
    const float step = std::log(static_cast<float>(distance) / static_cast<float>(single)) /
                       static_cast<float>(std::log(static_cast<double>(rule.farthest) / static_cast<double>(single))) *
                       static_cast<float>(steps);
    const std::int64_t range = single + static_cast<std::int64_t>(step);
    return first + (range < ranges ? range : ranges - 1);
}

}  // namespace

Tensor<double> biased_by_range(const Tensor<double>& scaled, const double* table, const BucketRule& rule, std::int64_t first) {
    const Shape& shape = scaled.shape();
    Tensor<double> y(shape);
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h)
            for (std::int64_t t = 0; t < shape[2].size; ++t)
                for (std::int64_t s = 0; s < shape[3].size; ++s)
                    y(b, h, t, s) = scaled(b, h, t, s) + table[range_of(rule, s - first - t) * shape[1].size + h];
    return y;
}

Tensor<double> product(const Tensor<double>& a, const Tensor<double>& b) {
    Tensor<double> y(a.shape());
    for (std::int64_t i = 0; i < a.size(); ++i) y.data()[i] = a.data()[i] * b.data()[i];
    return y;
}

namespace {

/// YaRN (Peng et al., 2023, section 3.2, in transformers' form): the share of a pair's frequency that is divided by `factor`, which rises
/// from 0 to 1 between the pairs that turn `high` and `low` times in the original context.
double share_lowered(const RotaryRule& rule, double pair) {
    const RotaryStretch& stretch = rule.stretch;
    const auto turning = [&](double turns) {
        return static_cast<double>(rule.size) * std::log(static_cast<double>(stretch.original_context) / (turns * 2 * std::numbers::pi)) /
               (2 * std::log(rule.base));
    };
    double begin = turning(stretch.high), end = turning(stretch.low);
    if (stretch.whole_pairs) {
        begin = std::floor(begin);
        end = std::ceil(end);
    }
    if (begin < 0) begin = 0;
    if (end > static_cast<double>(rule.size - 1)) end = static_cast<double>(rule.size - 1);
    if (begin == end) end += 0.001;
    const double share = (pair - begin) / (end - begin);
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/// The angle by which pair i turns per position in a text of `tokens` tokens, with frequency scaling.
double angle_of_position(const RotaryRule& rule, std::int64_t i, std::int64_t tokens) {
    const double plain = std::pow(rule.base, -2 * static_cast<double>(i) / static_cast<double>(rule.size));
    const RotaryStretch& stretch = rule.stretch;
    const double context = static_cast<double>(stretch.original_context);
    switch (stretch.kind) {
    case RotaryScaling::None:
        return plain;
    case RotaryScaling::Dynamic: {
        const double size = static_cast<double>(rule.size), longer = std::max(1.0, static_cast<double>(tokens) / context);
        const double base = rule.base * std::pow(stretch.factor * longer - stretch.factor + 1, size / (size - 2));
        return std::pow(base, -2 * static_cast<double>(i) / size);
    }
    case RotaryScaling::Linear:
        return plain / stretch.factor;
    case RotaryScaling::Llama3: {
        const double wavelength = 2 * std::numbers::pi / plain;
        if (wavelength < context / stretch.high) return plain;
        if (wavelength > context / stretch.low) return plain / stretch.factor;
        const double smooth = (context / wavelength - stretch.low) / (stretch.high - stretch.low);
        return (1 - smooth) * plain / stretch.factor + smooth * plain;
    }
    case RotaryScaling::Yarn: {
        const double share = share_lowered(rule, static_cast<double>(i));
        return share * plain / stretch.factor + (1 - share) * plain;
    }
    case RotaryScaling::LongRope:
        return plain / (tokens > stretch.original_context ? stretch.long_factors : stretch.short_factors)[static_cast<std::size_t>(i)];
    }
    return plain;
}

}  // namespace

Tensor<double> rotated(const Tensor<double>& x, const RotaryRule& rule, std::int64_t first, std::int64_t tokens) {
    Tensor<double> y = x;
    const Shape& shape = x.shape();
    const std::int64_t half = rule.size / 2;
    const double size = rule.stretch.amplitude;
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h)
            for (std::int64_t p = 0; p < shape[2].size; ++p)
                for (std::int64_t i = 0; i < half; ++i) {
                    const double angle = static_cast<double>(first + p) * angle_of_position(rule, i, tokens),
                                 cosine = size * std::cos(angle), sine = size * std::sin(angle);
                    const double one = x(b, h, p, i), other = x(b, h, p, i + half);
                    y(b, h, p, i) = one * cosine - other * sine;
                    y(b, h, p, i + half) = other * cosine + one * sine;
                }
    return y;
}

double activate(Activation activation, double x) {
    switch (activation) {
    case Activation::Relu:
        return x < 0 ? 0 : x;  // NaN stays NaN
    case Activation::GeluErf:
        return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::GeluTanh:
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::Silu:
        return x / (1 + std::exp(-x));
    case Activation::QuickGelu:
        return x / (1 + std::exp(-1.702 * x));
    case Activation::GeluClipped: {
        const double gelu = 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
        return gelu > 10 ? 10 : gelu;
    }
    }
    return x;
}

Tensor<double> attention_scores(const Tensor<double>& q, const Tensor<double>& k) {
    const std::int64_t batch = q.shape()[0].size, heads = q.shape()[1].size, queries = q.shape()[2].size, keys = k.shape()[2].size;
    const std::int64_t head_size = q.shape()[3].size, queries_a_key_head = heads / k.shape()[1].size;
    Tensor<double> scores({{Axis::B, batch}, {Axis::H, heads}, {Axis::T, queries}, {Axis::S, keys}});
    for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t t = 0; t < queries; ++t)
                for (std::int64_t s = 0; s < keys; ++s) {
                    double sum = 0;
                    for (std::int64_t d = 0; d < head_size; ++d) sum += q(b, h, t, d) * k(b, h / queries_a_key_head, s, d);
                    scores(b, h, t, s) = sum;
                }
    return scores;
}

Tensor<double> apply_mask(const Tensor<double>& scaled, const Permissions& permissions) {
    Tensor<double> masked(scaled.shape());
    const Shape& shape = scaled.shape();
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h)
            for (std::int64_t t = 0; t < shape[2].size; ++t)
                for (std::int64_t s = 0; s < shape[3].size; ++s)
                    masked(b, h, t, s) =
                        permissions.may_attend(b, h, t, s) ? scaled(b, h, t, s) + permissions.added(b, h, t, s) : -kInfinity;
    return masked;
}

Tensor<double> attention_weights(const Tensor<double>& masked, const Permissions& permissions, double temperature) {
    const Shape& shape = masked.shape();
    Tensor<double> weights(shape);
    std::vector<double> z(static_cast<std::size_t>(shape[3].size));
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h)
            for (std::int64_t t = 0; t < shape[2].size; ++t) {
                for (std::int64_t s = 0; s < shape[3].size; ++s) z[static_cast<std::size_t>(s)] = masked(b, h, t, s) / temperature;
                softmax_row(z.data(), &weights(b, h, t), shape[3].size, [&](std::int64_t s) { return permissions.may_attend(b, h, t, s); });
            }
    return weights;
}

void forget_forbidden(Tensor<double>& weights, const Permissions& permissions) {
    const Shape& shape = weights.shape();
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h)
            for (std::int64_t t = 0; t < shape[2].size; ++t)
                for (std::int64_t s = 0; s < shape[3].size; ++s)
                    if (!permissions.may_attend(b, h, t, s)) weights(b, h, t, s) = 0;
}

Tensor<double> weights_over_queries(const Tensor<double>& masked, const Permissions& permissions, double temperature) {
    const Shape& shape = masked.shape();
    const std::int64_t queries = shape[2].size;
    Tensor<double> weights(shape);
    std::vector<double> z(static_cast<std::size_t>(queries)), p(z.size());
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h)
            for (std::int64_t s = 0; s < shape[3].size; ++s) {
                for (std::int64_t t = 0; t < queries; ++t) z[static_cast<std::size_t>(t)] = masked(b, h, t, s) / temperature;
                softmax_row(z.data(), p.data(), queries, [&](std::int64_t t) { return permissions.may_attend(b, h, t, s); });
                for (std::int64_t t = 0; t < queries; ++t) weights(b, h, t, s) = p[static_cast<std::size_t>(t)];
            }
    return weights;
}

Tensor<double> heads_in_order(const Tensor<double>& packed, Dim heads, Axis position) {
    const Shape& shape = packed.shape();
    Tensor<double> out({shape[0], heads, {position, shape[1].size}, {Axis::D, shape[2].size / heads.size}});
    for (std::int64_t i = 0; i < packed.size(); ++i) out.data()[i] = packed.data()[i];
    return out;
}

Tensor<double> concat_in_order(const Tensor<double>& context) {
    const Shape& shape = context.shape();
    Tensor<double> out({shape[0], {Axis::T, shape[2].size}, {Axis::C, shape[1].size * shape[3].size}});
    for (std::int64_t i = 0; i < context.size(); ++i) out.data()[i] = context.data()[i];
    return out;
}

Tensor<double> weighted_values(const Tensor<double>& weights, const Tensor<double>& v, const Permissions& permissions) {
    const Shape& shape = weights.shape();
    const std::int64_t head_size = v.shape()[3].size, queries_a_key_head = shape[1].size / v.shape()[1].size;
    Tensor<double> context({shape[0], shape[1], shape[2], {Axis::D, head_size}});
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h)
            for (std::int64_t t = 0; t < shape[2].size; ++t)
                for (std::int64_t s = 0; s < shape[3].size; ++s) {
                    // Masked keys must be skipped: 0 times an infinite value would be NaN.
                    if (!permissions.may_attend(b, h, t, s)) continue;
                    for (std::int64_t d = 0; d < head_size; ++d)
                        context(b, h, t, d) += weights(b, h, t, s) * v(b, h / queries_a_key_head, s, d);
                }
    return context;
}

Tensor<double> concat_heads(const Tensor<double>& context) {
    const Shape& shape = context.shape();
    const std::int64_t head_size = shape[3].size;
    Tensor<double> concat({shape[0], {Axis::T, shape[2].size}, {Axis::C, shape[1].size * head_size}});
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h)
            for (std::int64_t t = 0; t < shape[2].size; ++t)
                for (std::int64_t d = 0; d < head_size; ++d) concat(b, t, h * head_size + d) = context(b, h, t, d);
    return concat;
}

Tensor<double> softmax(const Tensor<double>& x) {
    Tensor<double> p(x.shape());
    const std::int64_t n = width_of(x);
    for (std::int64_t row = 0; row < rows_of(x); ++row)
        softmax_row(x.data() + row * n, p.data() + row * n, n, [](std::int64_t) { return true; });
    return p;
}

}  // namespace attn::reference
