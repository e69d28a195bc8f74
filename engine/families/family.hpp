#pragma once
/// A family of published models: how its config.json maps to our configuration, and its tensors to our parameters. One file per family;
/// families.cpp lists them.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/plan/config.hpp"

namespace attn {

/// Outputs [first, first + count) of a linear map, which are columns of our [in,out].
struct OutputRun {
    std::int64_t first = 0, count = 0;
};

/// Where a checkpoint stores a plan's parameter.
struct TensorSource {
    std::string parameter;          ///< our name: "layers.0.attention.q.weight"
    std::string tensor;             ///< the checkpoint's name without the family's prefix: "h.0.attn.c_attn.weight"
    bool transposed = false;        ///< stored as [out,in], like nn.Linear; ours are [in,out]
    std::vector<OutputRun> runs{};  ///< the tensor's outputs that belong to the parameter, in order; empty: all
    std::int64_t outputs = 0;       ///< number of outputs of the tensor; only with `runs`
    std::int64_t first_row = 0;     ///< of a table: earlier rows are not part of the parameter
    bool as_row = false;            ///< of a bias: stored as a matrix with one row
    std::string other_name{};       ///< alternative name in some checkpoints
};

/// Why a checkpoint's tensor is not a parameter.
enum class Leftover : std::uint8_t {
    Unknown,  ///< purpose unknown
    Buffer,   ///< can be computed: a mask, positions
    Copy,     ///< of another tensor that it is tied to
    Other,    ///< belongs to a part that is not computed, such as another head
    Setting,  ///< part of the configuration: divisors of rotary frequencies
};

struct Family {
    std::string_view name;                          ///< "GPT-2"
    std::span<const std::string_view> model_types;  ///< config.json's "model_type"
    std::span<const std::string_view> prefixes;     ///< found before all tensor names in some checkpoints: "transformer."
    /// Throws FileError naming an option that needs arithmetic attnscope does not have.
    Config (*read_config)(JsonObject& json) = nullptr;
    std::vector<TensorSource> (*tensors)(const Config& config) = nullptr;
    /// Purpose of a tensor that no parameter uses; `tensor` is without the prefix.
    Leftover (*leftover)(std::string_view tensor, const Config& config) = nullptr;
    // Only for families in whose format our own models can be written; null for others.
    bool (*names)(const Config& config) = nullptr;  ///< whether a model's parameters can be stored under the names of tensors()
    /// The config.json with which transformers loads such a model; "" if its class computes something else.
    std::string (*config_json)(const Config& config) = nullptr;
    bool counts_real_tokens = false;  ///< a token's position counts only real tokens, wherever the padding is
    bool scales_queries = false;      ///< transformers scales queries before the product, and records them scaled
};

/// All families.
std::span<const Family* const> families();
/// The family of a config.json's "model_type"; nullptr if there is none.
const Family* find_family(std::string_view model_type);

// --- helpers shared by families ------------------------------------------------------------------------------------

/// The integer under `key`, in [1, max]; throws FileError if it is missing.
std::int64_t required_size(JsonObject& json, std::string_view key, std::int64_t max = std::int64_t{1} << 24);
/// The activation under `key`, by its name in transformers. Throws FileError naming an unknown one.
Activation read_activation_word(JsonObject& json, std::string_view key, Activation usual);
/// The inverse: the name in transformers.
std::string_view activation_word(Activation activation);
/// Throws FileError if an option differs from the value attnscope implements; `needs` says what the other value would need.
void require_option(JsonObject& json, std::string_view key, bool expected, bool usual, std::string_view needs);
/// Adds a linear map: weight, and bias if `biased`.
void add_linear(std::vector<TensorSource>& out, const std::string& parameter, const std::string& tensor, bool transposed, bool biased,
                const std::vector<OutputRun>& runs = {}, std::int64_t outputs = 0);
/// Adds a norm: weight, and bias if the configuration's norms have one.
void add_norm(std::vector<TensorSource>& out, const std::string& parameter, const std::string& tensor, const Config& config);

/// Reads GPT-2's settings other than sizes: activation, eps, and the scaling of scores.
void read_gpt2_arithmetic(JsonObject& json, Config& config);
/// Sizes, norms and head under the keys that most decoders use: hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads,
/// head_dim, max_position_embeddings, vocab_size. No biases; the output head is untied unless tie_word_embeddings is set.
Config read_decoder_sizes(JsonObject& json);
/// RoPE: base, rotated part of a head and frequency scaling, from top-level keys (older files) or an object of their own.
void read_rotary(JsonObject& json, Config& config);
/// Sliding windows: for the layers that layer_types calls "sliding_attention" if it is present, else for those where slides(layer).
void read_windows(JsonObject& json, std::int64_t window, Config& config, const std::function<bool(std::int64_t)>& slides);
/// sliding_window, 0 for none; `usual` if the key is missing.
std::int64_t read_window(JsonObject& json, std::int64_t usual);
/// Adds an attention under the names of Llama and its relatives: self_attn.{q,k,v}_proj, {q,k}_norm, and `output`.
void add_self_attn(std::vector<TensorSource>& out, const std::string& layer, const char* output, const Config& config);
/// Adds q, k and v from one fused map: all heads of q, then of k, then of v.
void add_fused_projections(std::vector<TensorSource>& out, const std::string& attention, const std::string& tensor, const Config& config,
                           bool biased);
/// The same where each key head follows the query heads that share it and precedes its value head.
void add_interleaved_projections(std::vector<TensorSource>& out, const std::string& attention, const std::string& tensor,
                                 const Config& config, bool biased);
/// Buffers in old files, and a tied head.
Leftover usual_leftover(std::string_view tensor, const Config& config);

/// Whether config.json's "architectures" is missing or names a class that ends with one of these words.
bool names_class(JsonObject& json, std::initializer_list<std::string_view> endings);

extern const Family kBertFamily, kRobertaFamily, kDistilBertFamily, kT5Family, kBartFamily;
extern const Family kGpt2Family, kGptNeoFamily, kGptNeoxFamily, kLlamaFamily, kMistralFamily, kQwen2Family, kQwen3Family, kSmolLm3Family,
    kOlmo2Family, kGemmaFamily, kGemma2Family, kGemma3Family, kPhiFamily, kPhi3Family, kOptFamily, kBloomFamily, kFalconFamily;

}  // namespace attn
