#pragma once
/// Random attention as a dump for the doctor, with ways to modify it.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/io/array_file.hpp"

namespace attn::doctor {

using Values = std::vector<double>;

struct Sizes {
    std::int64_t b = 2, h = 3, t = 5, s = 5, d = 4;
};

/// Attention in plain loops, in double; `factor` scales the products and `kept(t, s)` says where a query may attend.
struct Example {
    Sizes n;
    Values q, k, v, scores, scaled, masked, weights, context;

    template <class Kept>
    Example(const Sizes& sizes, unsigned seed, double factor, const Kept& kept) : n(sizes) {
        std::mt19937 engine(seed);
        std::normal_distribution<double> normal;
        const auto draw = [&](std::int64_t count) {
            Values out(static_cast<std::size_t>(count));
            for (double& x : out) x = normal(engine);
            return out;
        };
        q = draw(n.b * n.h * n.t * n.d);
        k = draw(n.b * n.h * n.s * n.d);
        v = draw(n.b * n.h * n.s * n.d);
        compute(factor, kept);
    }
    /// With the q, k and v of another example.
    template <class Kept>
    Example(const Example& other, double factor, const Kept& kept) : n(other.n), q(other.q), k(other.k), v(other.v) {
        compute(factor, kept);
    }

    template <class Kept>
    void compute(double factor, const Kept& kept) {
        for (std::int64_t bh = 0; bh < n.b * n.h; ++bh)
            for (std::int64_t t = 0; t < n.t; ++t) {
                double sum = 0;
                for (std::int64_t s = 0; s < n.s; ++s) {
                    double dot = 0;
                    for (std::int64_t d = 0; d < n.d; ++d) dot += q[at((bh * n.t + t) * n.d + d)] * k[at((bh * n.s + s) * n.d + d)];
                    scores.push_back(dot);
                    scaled.push_back(dot * factor);
                    masked.push_back(kept(t, s) ? dot * factor : -std::numeric_limits<double>::infinity());
                    weights.push_back(std::exp(masked.back()));
                    sum += weights.back();
                }
                for (std::int64_t s = 0; s < n.s; ++s) weights[at((bh * n.t + t) * n.s + s)] /= sum;
                for (std::int64_t d = 0; d < n.d; ++d) {
                    double total = 0;
                    for (std::int64_t s = 0; s < n.s; ++s) total += weights[at((bh * n.t + t) * n.s + s)] * v[at((bh * n.s + s) * n.d + d)];
                    context.push_back(total);
                }
            }
    }

    static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

    ArrayFile file() const {
        ArrayFile out;
        out.source = "dump.npz";
        const auto add = [&](const char* name, std::int64_t rows, std::int64_t columns, const Values& values) {
            out.arrays.push_back(make_array<double>(name, {n.b, n.h, rows, columns}, values));
        };
        add("q", n.t, n.d, q);
        add("k", n.s, n.d, k);
        add("v", n.s, n.d, v);
        add("scores", n.t, n.s, scores);
        add("scaled", n.t, n.s, scaled);
        add("masked", n.t, n.s, masked);
        add("weights", n.t, n.s, weights);
        add("context", n.t, n.d, context);
        return out;
    }
};

/// The numbers in a format with `bits` significant bits, 11 for float16 and 8 for bfloat16; they must be normal in it.
inline Values rounded_to(int bits, Values values) {
    for (double& x : values) {
        int exponent = 0;
        const double fraction = std::frexp(x, &exponent);
        if (std::isfinite(x)) x = std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
    }
    return values;
}

inline NamedArray as_bfloat16(const std::string& name, const std::vector<std::int64_t>& shape, const Values& values) {
    NamedArray out{name, DType::BF16, shape, {}};
    for (const double x : rounded_to(8, values)) {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
        out.bytes.push_back(static_cast<std::byte>(bits >> 16));
        out.bytes.push_back(static_cast<std::byte>(bits >> 24));
    }
    return out;
}

inline bool everywhere(std::int64_t, std::int64_t) { return true; }
inline bool causal(std::int64_t t, std::int64_t s) { return s <= t; }

inline void change(ArrayFile& file, const char* name, std::size_t place, double value) {
    for (NamedArray& array : file.arrays) {
        if (array.name != name) continue;
        Values values = values_as<double>(array, "");
        values[place] = value;
        array = make_array<double>(name, array.shape, values);
    }
}
inline void replace(ArrayFile& file, const std::string& name, const Values& values) {
    for (NamedArray& array : file.arrays)
        if (array.name == name) array = make_array<double>(name, array.shape, values);
}
inline void keep_only(ArrayFile& file, const std::vector<std::string>& names) {
    std::erase_if(file.arrays, [&](const NamedArray& array) { return std::find(names.begin(), names.end(), array.name) == names.end(); });
}

}  // namespace attn::doctor
