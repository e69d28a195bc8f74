#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <type_traits>

#include "engine/ops/parallel.hpp"
#include "engine/tensor/matrix.hpp"
#include "engine/tensor/random.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {
namespace {

bool is_norm_gain(const ParameterInfo& info) { return info.shape.rank() == 1 && info.name.ends_with("weight"); }
/// The stored gain that makes a norm multiply by 1.
template <class Scalar>
Scalar fresh_gain(const Config& config) {
    return config.norm_kind == NormKind::RmsPlusOne ? 0 : 1;
}
bool is_bias(const ParameterInfo& info) { return info.name.ends_with("bias"); }
bool is_embedding(const ParameterInfo& info) { return info.name.ends_with("embedding.weight"); }
bool is_residual_projection(const ParameterInfo& info) {
    return info.name.ends_with("attention.out.weight") || info.name.ends_with("ffn.out.weight");
}
/// One of the matrices side by side in a packed q, k, v projection.
struct PackedPart {
    std::int64_t first_column, heads;
};

std::vector<PackedPart> packed_parts(const Config& config, const ParameterInfo& info) {
    const std::int64_t q = config.attention_width(), k = config.kv_width(), heads = config.num_heads, shared = config.kv_heads();
    if (info.name.ends_with("qkv.weight")) return {{0, heads}, {q, shared}, {q + k, shared}};
    if (info.name.ends_with(".kv.weight")) return {{0, shared}, {k, shared}};
    return {{0, heads}};
}

bool is_packed(const ParameterInfo& info) { return info.name.ends_with("qkv.weight") || info.name.ends_with(".kv.weight"); }

/// Standard deviation of a normal distribution, or half-width of a uniform one.
struct Distribution {
    double size = 0;
    bool uniform = false;
};

Distribution distribution_of(const Config& config, const ParameterInfo& info) {
    const double fan_in = static_cast<double>(info.shape[0].size);
    switch (config.init) {
    case Init::Gpt2: {
        // With two residual additions per layer, this keeps the size of the sum of 2 L terms that of one (Radford et al., 2019).
        const double residual = 1 / std::sqrt(2.0 * static_cast<double>(config.num_layers));
        if (is_bias(info)) return {};
        return {is_residual_projection(info) ? 0.02 * residual : 0.02};
    }
    case Init::Transformer: {
        if (is_bias(info)) return {};
        if (is_embedding(info)) return {1 / std::sqrt(static_cast<double>(config.d_model))};
        // Xavier uniform (Glorot and Bengio, 2010), separately for every packed matrix; keys and values with fewer heads use the queries'
        // bounds.
        const double fan_out = static_cast<double>(is_packed(info) ? config.attention_width() : info.shape[1].size);
        return {std::sqrt(6 / (fan_in + fan_out)), true};
    }
    case Init::Vivid:
        if (is_bias(info)) return {0.1};
        if (is_embedding(info)) return {info.name.starts_with("position") ? 0.5 : 1.0};
        return {1 / std::sqrt(fan_in)};
    case Init::Numpy:
        break;
    }
    return {};
}

/// Whether both configurations draw the same numbers as far as both have them, that is, differ at most in the rows of tables.
bool draw_alike(Config a, const Config& b) {
    a.vocab_size = b.vocab_size;
    a.context_length = b.context_length;
    return a == b;
}

/// How many leading numbers of `info` can be copied from `drawn`: all, the rows that both tables have, or none.
template <class Scalar>
std::int64_t count_known(const Parameters<Scalar>& drawn, const ParameterInfo& info) {
    const ParameterInfo* other = drawn.layout().find(info.name);
    if (other == nullptr) return 0;
    const bool same_rows = info.shape.rank() == 1 || info.shape[1] == other->shape[1];
    return same_rows ? std::min(info.shape.count(), other->shape.count()) : 0;
}

/// values[i] = number i of the stream, for i in [first, last), drawn from the distribution.
template <class Scalar>
void draw_range(const CounterRandom& random, const Distribution& distribution, std::int64_t first, std::int64_t last, Scalar* values) {
    constexpr int kTogether = 4096;
    Eigen::Array<double, Eigen::Dynamic, 1, Eigen::ColMajor, kTogether, 1> units;
    for (std::int64_t block = first; block < last; block += units.size()) {
        units.resize(std::min<std::int64_t>(kTogether, last - block));
        if (distribution.uniform)
            for (std::int64_t i = 0; i < units.size(); ++i) units[i] = 2 * random.uniform(static_cast<std::uint64_t>(block + i)) - 1;
        else random.normal(static_cast<std::uint64_t>(block), std::span(units.data(), static_cast<std::size_t>(units.size())));
        Eigen::Array<Scalar, Eigen::Dynamic, 1>::Map(values + block, units.size()) = (distribution.size * units).template cast<Scalar>();
    }
}

template <class Scalar>
void draw_by_counter(Parameters<Scalar>& parameters, const Parameters<Scalar>* drawn) {
    constexpr std::int64_t kDrawCost = 25;  // operations per normal number
    const Config& config = parameters.config();
    const auto& entries = parameters.layout().entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const ParameterInfo& info = entries[i];
        Scalar* values = parameters.data() + info.offset;
        const std::int64_t known = drawn == nullptr ? 0 : count_known(*drawn, info);
        if (known > 0) std::copy_n(drawn->find(info.name), known, values);
        if (is_norm_gain(info)) {
            std::fill_n(values, info.shape.count(), fresh_gain<Scalar>(config));
            continue;
        }
        const Distribution distribution = distribution_of(config, info);
        const CounterRandom random(config.seed, i);
        parallel_ranges(info.shape.count() - known, 64, kDrawCost, [&](std::int64_t first, std::int64_t last) {
            draw_range(random, distribution, known + first, known + last, values);
        });
    }
}

/// Row by row, like randn(rows, columns).
template <class Columns>
void draw_as_randn(NumpyRandom& random, Columns&& matrix) {
    for (auto row : matrix.rowwise())
        for (auto& number : row) number = static_cast<typename std::decay_t<Columns>::Scalar>(random.normal());
}

/// Q, K and V in turn. With separate heads each head draws its own W_Q, W_K, W_V, head by head; shared keys and values are drawn with the
/// first head of their group.
template <class Matrix>
void draw_packed(NumpyRandom& random, const Config& config, const ParameterInfo& info, Matrix& matrix) {
    const std::int64_t head_size = config.head_size();
    const std::vector<PackedPart> parts = packed_parts(config, info);
    if (!config.separate_heads) {
        for (const PackedPart& part : parts) draw_as_randn(random, matrix.middleCols(part.first_column, part.heads * head_size));
        return;
    }
    for (std::int64_t head = 0; head < config.num_heads; ++head)
        for (const PackedPart& part : parts) {
            const std::int64_t shared_by = config.num_heads / part.heads;
            if (head % shared_by == 0)
                draw_as_randn(random, matrix.middleCols(part.first_column + head / shared_by * head_size, head_size));
        }
}

template <class Scalar>
void draw_as_numpy(Parameters<Scalar>& parameters) {
    constexpr std::uint32_t kEmbeddingSeed = 42;
    const Config& config = parameters.config();
    const std::uint32_t seed = static_cast<std::uint32_t>(config.seed);
    NumpyRandom embeddings(kEmbeddingSeed), projections(seed), outputs(seed + 1), others(seed + 2);
    for (const ParameterInfo& info : parameters.layout().entries()) {
        const std::string_view name = info.name;
        const bool is_row = info.shape.rank() == 1;
        auto matrix = matrix_at(parameters.data() + info.offset, is_row ? 1 : info.shape[0].size, info.shape[is_row ? 0 : 1].size);
        if (is_norm_gain(info)) matrix.setConstant(fresh_gain<Scalar>(config));
        else if (is_bias(info)) continue;  // stays 0
        else if (is_embedding(info)) draw_as_randn(embeddings, matrix);
        else if (name.ends_with("attention.out.weight")) draw_as_randn(outputs, matrix);
        else if (name.find("attention.") != std::string_view::npos) draw_packed(projections, config, info, matrix);
        else draw_as_randn(others, matrix);
    }
}

}  // namespace

template <class Scalar>
Parameters<Scalar> initial_parameters(const Config& config, const Parameters<Scalar>* drawn) {
    Parameters<Scalar> parameters(config);
    if (config.init == Init::Numpy) draw_as_numpy(parameters);
    else draw_by_counter(parameters, drawn != nullptr && draw_alike(config, drawn->config()) ? drawn : nullptr);
    return parameters;
}

template Parameters<float> initial_parameters<float>(const Config&, const Parameters<float>*);
template Parameters<double> initial_parameters<double>(const Config&, const Parameters<double>*);

}  // namespace attn
