#pragma once
/// What a model consists of. A plain value: two equal configurations have the same parameters and the same stages.

#include <cstdint>
#include <string>

namespace attn {

/// Encoder and DecoderOnly have one stack (whether it is causal is a mask, not an architecture); EncoderDecoder has two.
enum class Architecture : std::uint8_t { Encoder, DecoderOnly, EncoderDecoder };
enum class NormPlacement : std::uint8_t { None, Pre, Post };
/// LayerNorm takes the mean away and has gain and bias; Rms divides by the root of the mean square and has a gain alone.
enum class NormKind : std::uint8_t { LayerNorm, Rms };
enum class Activation : std::uint8_t { Relu, GeluErf, GeluTanh, Silu };
/// Rotary turns queries and keys by their position instead of adding anything to the embedding.
enum class PositionKind : std::uint8_t { None, Learned, Sinusoidal, Rotary };

/// How the frequencies of rotary positions were changed for longer texts than a model was first trained on; see plan/rotary.hpp.
enum class RotaryScaling : std::uint8_t { None, Linear, Llama3 };
struct RotaryStretch {
    RotaryScaling kind = RotaryScaling::None;
    double factor = 1;                     ///< by which low frequencies, or with Linear all of them, are divided; at least 1
    double low = 1, high = 4;              ///< Llama3: between so many turns in the original context the one passes into the other
    std::int64_t original_context = 8192;  ///< Llama3: the longest text of the first training
    bool operator==(const RotaryStretch&) const = default;
};

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
    std::int64_t num_kv_heads = 0;  ///< heads that keys and values have, of which each serves equally many heads; 0: num_heads
    std::int64_t d_head = 0;        ///< 0: d_model / num_heads
    std::int64_t num_layers = 2;    ///< of each stack
    std::int64_t d_ff = 128;

    bool separate_heads = false;  ///< every head owns its W_Q, W_K, W_V (drawn head by head) instead of slices of a packed one
    bool qkv_bias = true;
    bool scale_by_layer = false;    ///< scores are divided by the layer's number too, from 1: an option of GPT-2
    bool output_projection = true;  ///< W_O after concat; off: attention_out is absent
    bool output_bias = true;
    bool residual = true;
    bool feed_forward = true;
    bool ffn_gated = false;  ///< the hidden layer is multiplied by the activation of a second one, the gate
    bool ffn_bias = true;
    bool final_norm = true;
    bool lm_head = true;       ///< logits and probabilities exist
    bool tied_lm_head = true;  ///< the head is the token embedding transposed
    NormPlacement norm = NormPlacement::Pre;
    NormKind norm_kind = NormKind::LayerNorm;
    Activation activation = Activation::GeluTanh;
    PositionKind position = PositionKind::Learned;
    double rotary_base = 10000;  ///< of rotary positions
    RotaryStretch rotary_stretch{};
    double layer_norm_eps = 1e-5;  ///< of every norm, of either kind
    Init init = Init::Vivid;
    std::uint64_t seed = 42;

    std::int64_t head_size() const { return d_head > 0 ? d_head : (num_heads > 0 ? d_model / num_heads : 0); }
    std::int64_t attention_width() const { return num_heads * head_size(); }  ///< width of concat
    std::int64_t kv_heads() const { return num_kv_heads > 0 ? num_kv_heads : num_heads; }
    std::int64_t kv_width() const { return kv_heads() * head_size(); }  ///< of the keys of all heads side by side
    /// Several heads share their keys and values: head h those of h / group_size().
    bool grouped() const { return kv_heads() != num_heads; }
    std::int64_t group_size() const { return num_heads / kv_heads(); }
    bool operator==(const Config&) const = default;
};

/// Throws ConfigError saying what is wrong and what would be right, such as
/// "d_model 30 is not divisible by 4 heads: 28 or 32 would be". Also bounds absurd sizes.
void validate(const Config& config);

}  // namespace attn
