#pragma once
/// What a family of published models is: how its config.json reads as our configuration, and which of its tensors is which of our
/// parameters. One file a family; families.cpp lists them.

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

/// Outputs `first` to `first + count` of a linear map, that is columns of our [in,out].
struct OutputRun {
    std::int64_t first = 0, count = 0;
};

/// Where a parameter of a plan is in a checkpoint.
struct TensorSource {
    std::string parameter;          ///< of ours: "layers.0.attention.q.weight"
    std::string tensor;             ///< of theirs, without the family's prefix: "h.0.attn.c_attn.weight"
    bool transposed = false;        ///< stored [out,in], as nn.Linear does; ours are [in,out]
    std::vector<OutputRun> runs{};  ///< which of the tensor's outputs these are, in order; empty: all
    std::int64_t outputs = 0;       ///< how many outputs the tensor has; only with `runs`
    std::int64_t first_row = 0;     ///< of a table: its rows before this one are no part of the parameter
    bool as_row = false;            ///< of a bias: stored as a matrix of one row
    std::string other_name{};       ///< what some checkpoints call the tensor
};

/// Why a tensor of a checkpoint is no parameter.
enum class Leftover : std::uint8_t {
    Unknown,  ///< nobody knows what it is for
    Buffer,   ///< can be computed: a mask, positions
    Copy,     ///< of another tensor, to which it is tied
    Other,    ///< of a part of the checkpoint that is not computed, such as another head
    Setting,  ///< read into the configuration: what rotary frequencies are divided by
};

struct Family {
    std::string_view name;                          ///< "GPT-2"
    std::span<const std::string_view> model_types;  ///< config.json's "model_type"
    std::span<const std::string_view> prefixes;     ///< before every tensor's name in some checkpoints, "transformer."
    /// Throws FileError naming an option that would need arithmetic that there is not.
    Config (*read_config)(JsonObject& json) = nullptr;
    std::vector<TensorSource> (*tensors)(const Config& config) = nullptr;
    /// `tensor` without the prefix.
    Leftover (*leftover)(std::string_view tensor, const Config& config) = nullptr;
    // Of a family as which models of ours are written; null in the others.
    bool (*names)(const Config& config) = nullptr;  ///< whether the parameters of such a model stand under the names of tensors()
    /// Text of the config.json with which transformers loads such a model; "" where its class computes something else.
    std::string (*config_json)(const Config& config) = nullptr;
    bool counts_real_tokens = false;  ///< a token's position is the number of real ones before it, wherever padding is
    bool scales_queries = false;      ///< transformers multiplies queries by the scores' factor before the product, and tells them so
};

/// All of them.
std::span<const Family* const> families();
/// The family of a config.json's "model_type", nullptr when there is none.
const Family* find_family(std::string_view model_type);

// --- what families share ------------------------------------------------------------------------------------------

/// The integer under `key`, in 1..max; throws FileError when it is missing.
std::int64_t required_size(JsonObject& json, std::string_view key, std::int64_t max = std::int64_t{1} << 24);
/// The activation that config.json names by one of transformers' words. Throws FileError naming one that there is not.
Activation read_activation_word(JsonObject& json, std::string_view key, Activation usual);
/// The inverse: one of transformers' words.
std::string_view activation_word(Activation activation);
/// Refuses an option that has another value than the one attnscope computes: "needs: ...".
void require_option(JsonObject& json, std::string_view key, bool expected, bool usual, std::string_view needs);
/// The entries of one linear map: weight, and bias where `biased`.
void add_linear(std::vector<TensorSource>& out, const std::string& parameter, const std::string& tensor, bool transposed, bool biased,
                const std::vector<OutputRun>& runs = {}, std::int64_t outputs = 0);
/// The entries of one norm: weight, and bias where the configuration's norms have one.
void add_norm(std::vector<TensorSource>& out, const std::string& parameter, const std::string& tensor, const Config& config);

/// What GPT-2's config.json says beside sizes: activation, eps, and how scores are scaled.
void read_gpt2_arithmetic(JsonObject& json, Config& config);
/// Sizes, norms and head by the keys that most decoders have: hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads,
/// head_dim, max_position_embeddings, vocab_size. No biases, an output head of its own unless tie_word_embeddings says else.
Config read_decoder_sizes(JsonObject& json);
/// Rotary positions: base, share of a head that turns and stretch, at the top as older files have them or in an object of their own.
void read_rotary(JsonObject& json, Config& config);
/// Sliding windows: of the layers that layer_types names "sliding_attention", where it is given, else of those for which slides(layer).
void read_windows(JsonObject& json, std::int64_t window, Config& config, const std::function<bool(std::int64_t)>& slides);
/// The width of sliding_window, 0 for none; `usual` where the file does not speak of it.
std::int64_t read_window(JsonObject& json, std::int64_t usual);
/// The entries of an attention by the names that Llama's relatives have: self_attn.{q,k,v}_proj, {q,k}_norm, and `output`.
void add_self_attn(std::vector<TensorSource>& out, const std::string& layer, const char* output, const Config& config);
/// The entries of q, k and v that lie one after the other in one map: all heads of q, then of k, then of v.
void add_fused_projections(std::vector<TensorSource>& out, const std::string& attention, const std::string& tensor, const Config& config,
                           bool biased);
/// The same where every head of the keys is stored behind the queries that read it, and before its values.
void add_interleaved_projections(std::vector<TensorSource>& out, const std::string& attention, const std::string& tensor,
                                 const Config& config, bool biased);
/// Buffers that old files hold, and a head that is tied.
Leftover usual_leftover(std::string_view tensor, const Config& config);

/// True when config.json's "architectures" name a class that ends with one of these words, or when it names none.
bool names_class(JsonObject& json, std::initializer_list<std::string_view> endings);

extern const Family kBertFamily, kRobertaFamily, kDistilBertFamily, kT5Family, kBartFamily;
extern const Family kGpt2Family, kGptNeoFamily, kGptNeoxFamily, kLlamaFamily, kMistralFamily, kQwen2Family, kQwen3Family, kSmolLm3Family,
    kOlmo2Family, kGemmaFamily, kGemma2Family, kGemma3Family, kPhiFamily, kPhi3Family, kOptFamily, kBloomFamily, kFalconFamily;

}  // namespace attn
