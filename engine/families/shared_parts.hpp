#pragma once
/// What the files of the families share: readers of config.json, and lists of the tensors that many checkpoints name alike.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "engine/families/family.hpp"

namespace attn {

/// The integer under `key`, in [1, max]; throws FileError if it is missing.
std::int64_t required_size(JsonObject& json, std::string_view key, std::int64_t max = std::int64_t{1} << 24);
/// The activation under `key`, by its name in transformers. Throws FileError naming an unknown one.
Activation read_activation_word(JsonObject& json, std::string_view key, Activation usual);
/// The activation of this name; an unknown one is reported at `key`.
Activation activation_named(JsonObject& json, std::string_view key, std::string_view word);
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
/// The sizes of a class in transformers, for files that only list what differs from them; 0: the file must say, or need not.
struct UsualSizes {
    std::int64_t vocabulary = 0, width = 0, layers = 0, heads = 0, kv_heads = 0, head = 0, feed_forward = 0, context = 2048;
};
/// The integer under `key`, or else `usual`; throws FileError if that is 0.
std::int64_t size_or(JsonObject& json, std::string_view key, std::int64_t usual);
/// Sizes, norms and head under the keys that most decoders use: hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads,
/// head_dim, max_position_embeddings, vocab_size. No biases; the output head is untied unless tie_word_embeddings is set.
Config read_decoder_sizes(JsonObject& json, const UsualSizes& usual = {});
/// RoPE: base, rotated part of a head and frequency scaling, from top-level keys (older files) or an object of their own. `usual_share` is
/// the rotated part if the file does not say; 0 for families that always rotate whole heads, for which another part is refused.
/// `names_of_neox`: also from GPT-NeoX's own keys, which mean nothing in other families. `usual_original`: the family's default of
/// original_max_position_embeddings at the top level, which outranks that of the object; 0: none.
void read_rotary(JsonObject& json, Config& config, double usual_share = 0, bool names_of_neox = false, std::int64_t usual_original = 0);
/// Sliding windows: for the layers that layer_types calls "sliding_attention" if it is present, else for those where slides(layer).
void read_windows(JsonObject& json, std::int64_t window, Config& config, const std::function<bool(std::int64_t)>& slides);
/// The same for families in which sliding_window decides for all layers: transformers does not read layer_types there, so a file whose
/// layer_types say otherwise is refused.
void read_one_window(JsonObject& json, std::int64_t window, Config& config);
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

}  // namespace attn
