#pragma once
/// What a model consists of. A plain value: two equal configurations have the same parameters and the same stages.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// Encoder and DecoderOnly have one stack (whether it is causal is a mask, not an architecture); EncoderDecoder has two.
enum class Architecture : std::uint8_t { Encoder, DecoderOnly, EncoderDecoder };
enum class NormPlacement : std::uint8_t {
    None,
    Pre,       ///< of what a sublayer reads: x + F(norm(x))
    Post,      ///< of what the stream becomes: norm(x + F(x))
    Sandwich,  ///< of what a sublayer reads and of what it finds: x + norm(F(norm(x)))
    Output,    ///< of what a sublayer finds alone: x + norm(F(x))
};
/// LayerNorm takes the mean away and has gain and bias; Rms divides by the root of the mean square and has a gain alone, and so does
/// RmsPlusOne, whose gain is 1 + what is stored.
enum class NormKind : std::uint8_t { LayerNorm, Rms, RmsPlusOne };
/// Norms of queries and keys before they meet, without a bias: of each head for itself, or of all heads' numbers together.
enum class QueryKeyNorm : std::uint8_t { None, PerHead, AllHeads };
/// What a layer's feed-forward block reads: the stream after the attention, or the one before it, as the attention does.
enum class BlockOrder : std::uint8_t {
    InTurn,
    Parallel,         ///< each of the two with a norm of its own
    ParallelOneNorm,  ///< both read the same norm
};
enum class Activation : std::uint8_t { Relu, GeluErf, GeluTanh, Silu };
/// Rotary turns queries and keys by their position instead of adding anything to the embedding; Alibi lowers scores by the distance;
/// Buckets adds to them what each head has learned about a range of distances, the same in all layers of a stack.
enum class PositionKind : std::uint8_t { None, Learned, Sinusoidal, Rotary, Alibi, Buckets };

/// How the frequencies of rotary positions were changed for longer texts than a model was first trained on; see plan/rotary.hpp.
enum class RotaryScaling : std::uint8_t { None, Linear, Llama3, Yarn, LongRope };
struct RotaryStretch {
    RotaryScaling kind = RotaryScaling::None;
    double factor = 1;                     ///< by which low frequencies, or with Linear all of them, are divided; at least 1
    double low = 1, high = 4;              ///< Llama3, Yarn: between so many turns in the original context the one passes into the other
    std::int64_t original_context = 8192;  ///< the longest text of the first training; not of Linear
    bool whole_pairs = true;               ///< Yarn: the passage begins and ends at whole numbers of pairs
    double amplitude = 1;                  ///< Yarn, LongRope: sines and cosines are multiplied by it
    /// LongRope: what the frequency of each pair is divided by, in texts up to the original context and in longer ones.
    std::vector<double> short_factors{}, long_factors{};
    bool operator==(const RotaryStretch&) const = default;
};

/// How rotary positions work in a layer.
enum class LayerRotary : std::uint8_t {
    Usual,
    Local,  ///< with a base of its own and without a stretch: Config::rotary_local_base
    None,   ///< queries and keys are not turned
};
/// What may differ from layer to layer.
struct LayerKind {
    std::int64_t window = 0;  ///< a query sees so many keys, itself included, on either side; 0: all
    LayerRotary rotary = LayerRotary::Usual;
    bool operator==(const LayerKind&) const = default;
};

/// Which stack of layers: an encoder-decoder has both, every other model has only Main.
enum class Stack : std::uint8_t { Main, Encoder, Decoder };

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
    std::int64_t num_kv_heads = 0;    ///< heads that keys and values have, of which each serves equally many heads; 0: num_heads
    std::int64_t d_head = 0;          ///< 0: d_model / num_heads
    std::int64_t num_layers = 2;      ///< of each stack
    std::int64_t encoder_layers = 0;  ///< of the encoder beside a decoder; 0: num_layers
    std::int64_t d_ff = 128;
    std::int64_t encoder_ff = 0;  ///< of the encoder beside a decoder; 0: d_ff

    bool separate_heads = false;  ///< every head owns its W_Q, W_K, W_V (drawn head by head) instead of slices of a packed one
    bool qkv_bias = true;
    QueryKeyNorm qk_norm = QueryKeyNorm::None;
    double score_factor = 0;        ///< what scores are multiplied by; 0: 1 / sqrt(d_head)
    bool scale_by_layer = false;    ///< scores are divided by the layer's number too, from 1: an option of GPT-2
    double score_cap = 0;           ///< scaled scores x become cap tanh(x / cap); 0: they stay
    bool output_projection = true;  ///< W_O after concat; off: attention_out is absent
    bool output_bias = true;
    bool residual = true;
    BlockOrder order = BlockOrder::InTurn;
    bool feed_forward = true;
    bool ffn_gated = false;  ///< the hidden layer is multiplied by the activation of a second one, the gate
    bool ffn_bias = true;
    bool final_norm = true;
    bool lm_head = true;       ///< logits and probabilities exist
    bool tied_lm_head = true;  ///< the head is the token embedding transposed
    bool lm_head_bias = false;
    bool head_transform = false;    ///< before the head a linear map with bias, the activation and a norm
    double head_factor = 1;         ///< what the head reads is multiplied by
    double logit_cap = 0;           ///< logits x become cap tanh(x / cap); 0: they stay
    double embedding_factor = 1;    ///< what rows of the token embedding are multiplied by; not of its use as head
    std::int64_t d_embedding = 0;   ///< width of the token embedding, mapped to d_model and back before a tied head; 0: d_model
    std::int64_t num_segments = 0;  ///< parts of a text that tokens may belong to, each with a vector that is added; 0: none
    bool embedding_norm = false;    ///< of what enters the first layer
    NormPlacement norm = NormPlacement::Pre;
    NormKind norm_kind = NormKind::LayerNorm;
    Activation activation = Activation::GeluTanh;
    PositionKind position = PositionKind::Learned;
    bool stack_positions = false;          ///< each stack has a learned table of positions of its own
    std::int64_t position_buckets = 32;    ///< of Buckets: how many ranges of distances there are
    std::int64_t position_distance = 128;  ///< of Buckets: where the last one begins
    double rotary_base = 10000;            ///< of rotary positions
    std::int64_t rotary_size = 0;          ///< so many numbers of each head are turned, the first ones; 0: all
    double rotary_local_base = 10000;      ///< in layers of kind Local
    RotaryStretch rotary_stretch{};
    std::vector<LayerKind> layer_kinds{};  ///< of the layers in turn, over and over; empty: all are usual
    double layer_norm_eps = 1e-5;          ///< of every norm, of either kind
    Init init = Init::Vivid;
    std::uint64_t seed = 42;

    std::int64_t head_size() const { return d_head > 0 ? d_head : (num_heads > 0 ? d_model / num_heads : 0); }
    std::int64_t attention_width() const { return num_heads * head_size(); }  ///< width of concat
    std::int64_t kv_heads() const { return num_kv_heads > 0 ? num_kv_heads : num_heads; }
    std::int64_t kv_width() const { return kv_heads() * head_size(); }  ///< of the keys of all heads side by side
    /// Several heads share their keys and values: head h those of h / group_size().
    bool grouped() const { return kv_heads() != num_heads; }
    std::int64_t group_size() const { return num_heads / kv_heads(); }
    std::int64_t layers_of(Stack stack) const { return stack == Stack::Encoder && encoder_layers > 0 ? encoder_layers : num_layers; }
    std::int64_t ff_of(Stack stack) const { return stack == Stack::Encoder && encoder_ff > 0 ? encoder_ff : d_ff; }
    std::int64_t embedding_width() const { return d_embedding > 0 ? d_embedding : d_model; }
    std::int64_t rotated_size() const { return rotary_size > 0 ? rotary_size : head_size(); }
    bool norms_input() const { return norm == NormPlacement::Pre || norm == NormPlacement::Sandwich; }      ///< of sublayers
    bool norms_result() const { return norm == NormPlacement::Sandwich || norm == NormPlacement::Output; }  ///< of sublayers
    LayerKind layer_kind(std::int64_t layer) const {
        return layer_kinds.empty() ? LayerKind{} : layer_kinds[static_cast<std::size_t>(layer) % layer_kinds.size()];
    }
    bool operator==(const Config&) const = default;
};

/// Whether the model has any of what neither GPT-2 nor Llama has: norms of queries, keys and results, caps, windows, ALiBi, parallel
/// blocks, ends that are more than a table and a head.
bool has_later_parts(const Config& config);

/// Throws ConfigError saying what is wrong and what would be right, such as
/// "d_model 30 is not divisible by 4 heads: 28 or 32 would be". Also bounds absurd sizes.
void validate(const Config& config);

}  // namespace attn
