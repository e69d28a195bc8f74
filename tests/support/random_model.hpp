#pragma once
/// Models, texts and settings at random: every architecture and flag, sizes from 1.

#include <algorithm>
#include <memory>
#include <random>

#include "engine/model/transformer.hpp"

namespace attn::testing_support {

class RandomModel {
public:
    /// `modern`: with grouped heads, RMS norms, gated feed-forward blocks and rotary positions, too.
    explicit RandomModel(unsigned seed, bool modern = false) : random_(seed) {
        draw_config();
        if (modern) draw_modern_config();
        tokens = draw_batch(batch_);
        if (config.architecture == Architecture::EncoderDecoder) source = draw_batch(batch_);
        draw_settings();
    }

    Config config;
    ForwardSettings settings;
    TokenBatch tokens, source;
    bool unruly = false;  ///< parameters so large that rounding errors may grow from layer to layer

    template <class Scalar>
    Trace<Scalar> trace() const {
        return trace_forward<Scalar>(std::make_shared<const Parameters<Scalar>>(parameters<Scalar>()), tokens, source, settings);
    }

    /// Every parameter moved away from its initial value, so that no bias, gain or shift is 0 or 1; small enough that numbers do not
    /// grow from layer to layer until rounding alone changes who attends to whom.
    template <class Scalar>
    Parameters<Scalar> parameters() const {
        Parameters<Scalar> out = initial_parameters<Scalar>(config);
        std::mt19937 random(static_cast<unsigned>(config.seed));
        std::normal_distribution<float> noise(0, 0.1F);
        const float size = unruly ? 1 : config.norm == NormPlacement::None ? 0.5F : 0.7F;
        for (std::int64_t i = 0; i < out.count(); ++i)
            out.data()[i] = static_cast<Scalar>(size) * (out.data()[i] + static_cast<Scalar>(noise(random)));
        return out;
    }

    std::int64_t between(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random_); }
    bool coin(double chance = 0.5) { return std::bernoulli_distribution(chance)(random_); }

private:
    template <class Enum>
    Enum one_of(int count) {
        return static_cast<Enum>(between(0, count - 1));
    }

    void draw_config() {
        config.architecture = one_of<Architecture>(3);
        config.vocab_size = between(1, 12);
        config.context_length = between(1, 9);
        config.num_heads = between(1, 4);
        config.d_model = config.num_heads * between(1, 5);
        config.d_head = coin(0.7) ? 0 : between(1, 6);
        config.num_layers = between(1, 3);
        config.d_ff = between(1, 17);
        config.separate_heads = coin();
        config.qkv_bias = coin();
        config.output_bias = coin();
        config.output_projection = config.attention_width() != config.d_model || coin(0.7);
        config.residual = coin(0.8);
        config.feed_forward = coin(0.8);
        config.final_norm = coin();
        config.lm_head = coin(0.8);
        config.tied_lm_head = coin();
        config.norm = one_of<NormPlacement>(3);
        config.activation = one_of<Activation>(3);
        config.position = one_of<PositionKind>(3);
        config.layer_norm_eps = coin() ? 1e-5 : 1e-2;
        config.seed = static_cast<std::uint64_t>(between(0, 1 << 30));
        batch_ = between(1, 3);
    }

    void draw_modern_config() {
        do config.num_kv_heads = between(1, config.num_heads);
        while (config.num_heads % config.num_kv_heads != 0);
        config.norm_kind = one_of<NormKind>(2);
        config.activation = one_of<Activation>(4);
        config.ffn_gated = coin();
        config.ffn_bias = coin();
        if (coin(0.4)) return;
        config.position = PositionKind::Rotary;
        config.rotary_base = coin() ? 10000 : 10;
        if (config.head_size() % 2 == 0) return;
        config.d_head = 2 * between(1, 3);
        config.output_projection = true;
    }

    TokenBatch draw_batch(std::int64_t batch) {
        TokenBatch out;
        out.length = between(1, config.context_length);
        for (std::int64_t i = 0; i < batch * out.length; ++i)
            out.ids.push_back(static_cast<std::int32_t>(between(0, config.vocab_size - 1)));
        for (std::int64_t b = 0; b < batch; ++b) out.lengths.push_back(between(1, out.length));
        return out;
    }

    void draw_settings() {
        MaskSettings& masks = settings.masks;
        masks.causal = coin();
        masks.padding = coin(0.7);
        masks.window = coin(0.3) ? static_cast<int>(between(1, 4)) : 0;
        masks.prefix = coin(0.3) ? static_cast<int>(between(1, 4)) : 0;
        masks.block = coin(0.2) ? static_cast<int>(between(1, 4)) : 0;
        // Few cells, whole rows and places outside the map: all of them may be asked for.
        for (std::int64_t i = coin(0.3) ? between(1, 12) : 0; i > 0; --i)
            masks.painted.push_back({static_cast<std::int32_t>(between(0, 5)), static_cast<std::int32_t>(between(0, 5))});
        settings.temperature = coin(0.7) ? 1 : 0.7;
        if (coin(0.4))
            settings.dropout = {coin() ? 0.4 : 0, coin() ? 0.3 : 0, coin() ? 0.2 : 0, static_cast<std::uint64_t>(between(0, 99))};
        if (coin(0.05)) settings.dropout.attention = 1;
    }

    std::mt19937 random_;
    std::int64_t batch_ = 1;
};

}  // namespace attn::testing_support
