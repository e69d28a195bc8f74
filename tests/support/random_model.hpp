#pragma once
/// Random models, texts and settings: every architecture and flag, sizes from 1.

#include <algorithm>
#include <memory>
#include <random>

#include "engine/model/transformer.hpp"

namespace attn::testing_support {

class RandomModel {
public:
    /// `modern`: includes features of published model families, such as grouped heads and rotary positions.
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

    /// Moves every parameter away from its initial value, so that no bias, gain or shift is 0 or 1. Changes are small enough that numbers
    /// do not grow from layer to layer until rounding alone decides where heads attend.
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
        config.norm_kind = one_of<NormKind>(3);
        config.activation = one_of<Activation>(6);
        config.ffn_gated = coin();
        config.ffn_bias = coin();
        if (coin()) draw_block();
        if (coin()) draw_ends();
        if (coin(0.3)) config.qk_norm = one_of<QueryKeyNorm>(3);
        if (coin(0.2)) config.score_factor = 0.4;
        if (coin(0.2)) config.score_cap = coin() ? 0.7 : 5;
        if (coin(0.2)) config.position = PositionKind::Alibi;
        if (coin(0.2)) {
            config.position = PositionKind::Buckets;
            config.position_buckets = 2 * between(2, 4);
            config.position_distance = config.position_buckets / 2 + between(1, 4);
        }
        for (std::int64_t i = coin(0.3) ? between(1, 3) : 0; i > 0; --i)
            config.layer_kinds.push_back({between(0, 4), one_of<LayerRotary>(3)});
        if (config.position < PositionKind::Alibi && coin(0.6)) draw_rotary();
        config.scaled_alibi = config.position == PositionKind::Alibi && coin();
        config.residual_from_norm = config.residual && config.norms_input() && config.order == BlockOrder::InTurn &&
                                    config.architecture != Architecture::EncoderDecoder && coin(0.3);
    }

    void draw_block() {
        config.norm = one_of<NormPlacement>(config.architecture == Architecture::EncoderDecoder ? 3 : 5);
        const bool normed = config.norm == NormPlacement::Post || config.norms_result();
        config.output_projection = config.output_projection || normed;
        if (config.architecture == Architecture::EncoderDecoder || config.norm == NormPlacement::Post || !config.residual) return;
        config.order = one_of<BlockOrder>(config.norms_input() ? 3 : 2);
    }

    void draw_ends() {
        config.embedding_norm = coin();
        config.embedding_factor = coin() ? 1 : 1.5;
        config.d_embedding = coin(0.6) ? 0 : between(1, 7);
        config.lm_head_bias = coin();
        config.logit_cap = coin() ? 0 : 1.5;
        config.head_transform = coin(0.3);
        config.head_factor = coin(0.7) ? 1 : 0.6;
        config.num_segments = coin(0.7) ? 0 : between(1, 3);
        if (config.architecture != Architecture::EncoderDecoder) return;
        config.encoder_layers = coin() ? 0 : between(1, 3);
        config.encoder_ff = coin() ? 0 : between(1, 9);
        config.stack_positions = coin();
    }

    void draw_rotary() {
        config.position = PositionKind::Rotary;
        config.rotary_base = coin() ? 10000 : 10;
        config.rotary_local_base = 30;
        if (config.head_size() % 2 != 0) {
            config.d_head = 2 * between(1, 3);
            config.output_projection = true;
        }
        if (coin(0.3)) config.rotary_size = 2 * between(1, config.head_size() / 2);
        RotaryStretch& stretch = config.rotary_stretch;
        stretch.kind = coin() ? RotaryScaling::None : one_of<RotaryScaling>(6);
        // Dynamic scaling needs two pairs.
        if (stretch.kind == RotaryScaling::Dynamic && config.rotated_size() < 4) stretch.kind = RotaryScaling::Linear;
        if (stretch.kind == RotaryScaling::None) return;
        stretch.factor = coin() ? 1 : 2.5;
        stretch.low = 0.1;
        stretch.high = 1.2;
        stretch.original_context = between(1, 9);
        stretch.whole_pairs = coin();
        stretch.amplitude = coin() ? 1 : 1.2;
        if (stretch.kind != RotaryScaling::LongRope) return;
        for (std::int64_t i = 0; i < config.rotated_size() / 2; ++i) {
            stretch.short_factors.push_back(1 + 0.1 * static_cast<double>(i));
            stretch.long_factors.push_back(2 + 0.3 * static_cast<double>(i));
        }
    }

    TokenBatch draw_batch(std::int64_t batch) {
        TokenBatch out;
        out.length = between(1, config.context_length);
        for (std::int64_t i = 0; i < batch * out.length; ++i)
            out.ids.push_back(static_cast<std::int32_t>(between(0, config.vocab_size - 1)));
        for (std::int64_t b = 0; b < batch; ++b) out.lengths.push_back(between(1, out.length));
        for (std::int64_t i = 0; config.num_segments > 1 && i < batch * out.length; ++i)
            out.segments.push_back(static_cast<std::int32_t>(between(0, config.num_segments - 1)));
        return out;
    }

    void draw_settings() {
        MaskSettings& masks = settings.masks;
        masks.causal = coin();
        masks.padding = coin(0.7);
        masks.window = coin(0.3) ? static_cast<int>(between(1, 4)) : 0;
        masks.prefix = coin(0.3) ? static_cast<int>(between(1, 4)) : 0;
        masks.block = coin(0.2) ? static_cast<int>(between(1, 4)) : 0;
        // Single cells, whole rows and places outside the map: all of them may be requested.
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
