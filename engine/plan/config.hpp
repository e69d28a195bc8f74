#pragma once
/// What a model consists of. A plain value: two equal configurations have the same parameters and the same stages.

#include <cstdint>
#include <string>

namespace attn {

/// Encoder and DecoderOnly have one stack (whether it is causal is a mask, not an architecture); EncoderDecoder has two.
enum class Architecture : std::uint8_t { Encoder, DecoderOnly, EncoderDecoder };
enum class NormPlacement : std::uint8_t { None, Pre, Post };
enum class Activation : std::uint8_t { Relu, GeluErf, GeluTanh };
enum class PositionKind : std::uint8_t { None, Learned, Sinusoidal };

/// How fresh parameters are drawn.
enum class Init : std::uint8_t {
    Gpt2,         ///< N(0, 0.02), residual projections scaled by 1/sqrt(2 L); biases 0
    Transformer,  ///< Xavier uniform, embeddings N(0, 1/sqrt(C)); biases 0
    Vivid,        ///< N(0, 1/sqrt(fan_in)) with small biases: an untrained model whose attention is worth looking at
    Numpy,        ///< legacy NumPy randn: embeddings from seed 42, projections from `seed`, W_O from `seed` + 1, as the worked examples
};

struct Config {
    Architecture architecture = Architecture::DecoderOnly;
    std::int64_t vocab_size = 1;
    std::int64_t context_length = 64;  ///< longest sequence; rows of a learned position table
    std::int64_t d_model = 32;
    std::int64_t num_heads = 4;
    std::int64_t d_head = 0;      ///< 0: d_model / num_heads
    std::int64_t num_layers = 2;  ///< of each stack
    std::int64_t d_ff = 128;

    bool separate_heads = false;  ///< every head owns its W_Q, W_K, W_V (drawn head by head) instead of slices of a packed one
    bool qkv_bias = true;
    bool output_projection = true;  ///< W_O after concat; off: attention_out is absent
    bool output_bias = true;
    bool residual = true;
    bool feed_forward = true;
    bool final_norm = true;
    bool lm_head = true;       ///< logits and probabilities exist
    bool tied_lm_head = true;  ///< the head is the token embedding transposed
    NormPlacement norm = NormPlacement::Pre;
    Activation activation = Activation::GeluTanh;
    PositionKind position = PositionKind::Learned;
    double layer_norm_eps = 1e-5;
    Init init = Init::Vivid;
    std::uint64_t seed = 42;

    std::int64_t head_size() const { return d_head > 0 ? d_head : (num_heads > 0 ? d_model / num_heads : 0); }
    std::int64_t attention_width() const { return num_heads * head_size(); }  ///< width of concat
    bool operator==(const Config&) const = default;
};

/// Throws ConfigError saying what is wrong and what would be right, such as
/// "d_model 30 is not divisible by 4 heads: 28 or 32 would be". Also bounds absurd sizes.
void validate(const Config& config);

}  // namespace attn
