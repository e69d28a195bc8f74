#pragma once
/// The architecture of a model. A plain value: equal configurations have the same parameters and the same stages.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// Encoder and DecoderOnly have one stack (being causal is a matter of masks, not of architecture); EncoderDecoder has two.
enum class Architecture : std::uint8_t { Encoder, DecoderOnly, EncoderDecoder };
enum class NormPlacement : std::uint8_t {
    None,
    Pre,       ///< of a sublayer's input: x + F(norm(x))
    Post,      ///< of the sum: norm(x + F(x))
    Sandwich,  ///< of a sublayer's input and output: x + norm(F(norm(x)))
    Output,    ///< of a sublayer's output only: x + norm(F(x))
};
/// LayerNorm subtracts the mean and has gain and bias. Rms divides by the root mean square and has only a gain; so has RmsPlusOne, whose
/// gain is 1 + the stored number (Gemma).
enum class NormKind : std::uint8_t { LayerNorm, Rms, RmsPlusOne };
/// Norms, without bias, of queries and keys before the scores: of each head separately, or of all heads' numbers together.
enum class QueryKeyNorm : std::uint8_t { None, PerHead, AllHeads };
/// Whether a layer's feed-forward block reads the stream after attention or, like attention, before it.
enum class BlockOrder : std::uint8_t {
    InTurn,
    Parallel,         ///< each with a norm of its own
    ParallelOneNorm,  ///< both read the output of one norm
};
enum class Activation : std::uint8_t {
    Relu,
    GeluErf,
    GeluTanh,
    Silu,
    QuickGelu,    ///< x σ(kQuickGeluFactor x)
    GeluClipped,  ///< GeluErf, limited to kGeluLimit
};
/// The two constants are those of quick_gelu and gelu_10 in huggingface/transformers, activations.py.
inline constexpr double kGeluLimit = 10;
inline constexpr double kQuickGeluFactor = 1.702;
/// Rotary (RoPE) rotates queries and keys by their position instead of adding to the embedding. Alibi lowers scores by distance. Buckets
/// adds a learned bias per head and range of distances to the scores, shared by all layers of a stack.
enum class PositionKind : std::uint8_t { None, Learned, Sinusoidal, Rotary, Alibi, Buckets };

/// How RoPE frequencies are changed for longer texts than the model was first trained on; see plan/rotary.hpp.
enum class RotaryScaling : std::uint8_t { None, Linear, Llama3, Yarn, LongRope, Dynamic };
struct RotaryStretch {
    RotaryScaling kind = RotaryScaling::None;
    double factor = 1;                     ///< divides low frequencies, or with Linear all of them; for Dynamic see rotary.hpp; at least 1
    double low = 1, high = 4;              ///< Llama3, Yarn: turns in the original context between which scaling fades from full to none
    std::int64_t original_context = 8192;  ///< the longest text in the original training; not used by Linear
    bool whole_pairs = true;               ///< Yarn: the transition starts and ends at whole pair numbers
    double amplitude = 1;                  ///< Yarn, LongRope: multiplies sines and cosines
    /// LongRope: divisor of each pair's frequency, in texts up to the original context and in longer ones.
    std::vector<double> short_factors{}, long_factors{};
    bool operator==(const RotaryStretch&) const = default;
};

/// How a layer uses RoPE.
enum class LayerRotary : std::uint8_t {
    Usual,
    Local,  ///< own base, Config::rotary_local_base, and no stretch
    None,   ///< queries and keys are not rotated
};
/// What may vary between layers.
struct LayerKind {
    std::int64_t window = 0;  ///< sliding window: |t - s| < window; 0: all keys
    LayerRotary rotary = LayerRotary::Usual;
    bool operator==(const LayerKind&) const = default;
};

/// A stack of layers: an encoder-decoder has Encoder and Decoder, every other model only Main.
enum class Stack : std::uint8_t { Main, Encoder, Decoder };

/// How new parameters are drawn.
enum class Init : std::uint8_t {
    Gpt2,         ///< N(0, 0.02), residual projections scaled by 1/sqrt(2 L); biases 0
    Transformer,  ///< Xavier uniform, embeddings N(0, 1/sqrt(C)); biases 0
    Vivid,        ///< N(0, 1/sqrt(fan_in)) with small biases: makes the attention of an untrained model worth looking at
    Numpy,        ///< legacy NumPy randn, as in worked examples: embeddings from seed 42, projections from `seed`, W_O from `seed` + 1
};

/// No text may be longer, in tokens.
inline constexpr std::int64_t kMostPositions = std::int64_t{1} << 20;

inline constexpr std::int64_t kNoLayers = -1;

struct Config {
    Architecture architecture = Architecture::DecoderOnly;
    std::int64_t vocab_size = 1;
    std::int64_t context_length = 64;  ///< the longest text, unless any_length; rows of a learned position table
    bool any_length = false;           ///< texts may be longer than the context length; not with a learned position table
    std::int64_t d_model = 32;
    std::int64_t num_heads = 4;
    std::int64_t num_kv_heads = 0;    ///< key/value heads, each shared by num_heads / num_kv_heads query heads (GQA); 0: num_heads
    std::int64_t d_head = 0;          ///< 0: d_model / num_heads
    std::int64_t num_layers = 2;      ///< of each stack
    std::int64_t encoder_layers = 0;  ///< encoder layers of an encoder-decoder; 0: num_layers; kNoLayers: the source's embedding is read
    std::int64_t d_ff = 128;
    std::int64_t encoder_ff = 0;  ///< encoder d_ff of an encoder-decoder; 0: d_ff

    bool separate_heads = false;  ///< every head has its own W_Q, W_K, W_V (drawn head by head) rather than slices of packed ones
    bool qkv_bias = true;
    QueryKeyNorm qk_norm = QueryKeyNorm::None;
    double score_factor = 0;        ///< scores are multiplied by this; 0: 1 / sqrt(d_head)
    bool scale_by_layer = false;    ///< scores are also divided by the layer number, from 1 (an option of GPT-2)
    bool scaled_alibi = false;      ///< Alibi: what it subtracts is scaled like the scores (Falcon)
    double score_cap = 0;           ///< soft cap: scaled scores x become cap tanh(x / cap); 0: off
    bool output_projection = true;  ///< W_O after concat; if off there is no attention_out
    bool output_bias = true;
    bool residual = true;
    bool residual_from_norm = false;  ///< sublayers add to their normed input rather than to the stream (an option of BLOOM)
    BlockOrder order = BlockOrder::InTurn;
    bool feed_forward = true;
    bool ffn_gated = false;  ///< the hidden layer is multiplied by the activation of a second one, the gate (SwiGLU, GeGLU)
    bool ffn_bias = true;
    bool final_norm = true;
    bool lm_head = true;       ///< has logits and probabilities
    bool tied_lm_head = true;  ///< the output head is the transposed token embedding
    bool lm_head_bias = false;
    bool head_transform = false;    ///< a linear map with bias, the activation and a norm before the output head (BERT)
    double head_factor = 1;         ///< multiplies the input of the output head
    double logit_cap = 0;           ///< soft cap: logits x become cap tanh(x / cap); 0: off
    double embedding_factor = 1;    ///< multiplies rows of the token embedding, but not the tied output head
    std::int64_t d_embedding = 0;   ///< width of the token embedding, projected to d_model and, before a tied head, back; 0: d_model
    std::int64_t num_segments = 0;  ///< kinds of text segment (BERT), each with a vector added to the embedding; 0: none
    bool embedding_norm = false;    ///< norm before the first layer
    NormPlacement norm = NormPlacement::Pre;
    NormKind norm_kind = NormKind::LayerNorm;
    Activation activation = Activation::GeluTanh;
    PositionKind position = PositionKind::Learned;
    bool stack_positions = false;          ///< encoder and decoder have position tables of their own
    std::int64_t position_buckets = 32;    ///< Buckets: number of buckets
    std::int64_t position_distance = 128;  ///< Buckets: distance from which on all share the last bucket
    double rotary_base = 10000;            ///< RoPE base
    std::int64_t rotary_size = 0;          ///< RoPE: how many numbers of each head are rotated, from the first; 0: all
    double rotary_local_base = 10000;      ///< RoPE base in layers of kind Local
    RotaryStretch rotary_stretch{};
    std::vector<LayerKind> layer_kinds{};  ///< repeats over the layers; empty: all are LayerKind{}
    double layer_norm_eps = 1e-5;          ///< eps of every norm, of any kind
    Init init = Init::Vivid;
    std::uint64_t seed = 42;

    /// The longest text that can be computed, in tokens.
    std::int64_t longest_text() const { return any_length ? kMostPositions : context_length; }
    std::int64_t head_size() const { return d_head > 0 ? d_head : (num_heads > 0 ? d_model / num_heads : 0); }
    std::int64_t attention_width() const { return num_heads * head_size(); }  ///< width of concat
    std::int64_t kv_heads() const { return num_kv_heads > 0 ? num_kv_heads : num_heads; }
    std::int64_t kv_width() const { return kv_heads() * head_size(); }  ///< width of all key heads side by side
    /// Whether query heads share keys and values: head h uses key/value head h / group_size().
    bool grouped() const { return kv_heads() != num_heads; }
    std::int64_t group_size() const { return num_heads / kv_heads(); }
    std::int64_t layers_of(Stack stack) const {
        return stack != Stack::Encoder || encoder_layers == 0 ? num_layers : std::max<std::int64_t>(encoder_layers, 0);
    }
    /// A norm behind the last layer; a stack without layers has none.
    bool ends_with_norm(Stack stack) const { return final_norm && layers_of(stack) > 0; }
    /// The number of layers of the deepest stack.
    std::int64_t most_layers() const { return std::max(layers_of(Stack::Encoder), layers_of(Stack::Decoder)); }
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

/// Whether the model has any part that neither GPT-2 nor Llama has: norms of queries, keys or sublayer outputs, caps, windows, ALiBi,
/// parallel blocks, or input and output stages beyond a table and a head.
bool has_later_parts(const Config& config);

/// Throws ConfigError saying what is wrong and what would be right, such as "d_model 30 is not divisible by 4 heads: 28 or 32 would be".
/// Also rejects absurd sizes.
void validate(const Config& config);

}  // namespace attn
