/// T5 (Raffel et al., 2020), T5 1.1 and Flan-T5, as in huggingface/transformers, models/t5: unscaled scores with position buckets, and no
/// other biases.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 2> kT5Types = {"t5", "mt5"};
constexpr std::array<std::string_view, 1> kT5Prefixes = {"transformer."};

/// The name of an activation, perhaps with the prefix "gated-".
void read_feed_forward(JsonObject& json, std::string word, Config& config) {
    json.read("feed_forward_proj", word);
    config.ffn_gated = word.starts_with("gated-");
    if (config.ffn_gated) word.erase(0, std::string_view("gated-").size());
    config.activation = activation_named(json, "feed_forward_proj", word);
    // The gated form always uses the tanh formula, whatever it is called.
    if (config.ffn_gated && config.activation == Activation::GeluErf) config.activation = Activation::GeluTanh;
}

Config read_t5_config(JsonObject& json) {
    if (!names_class(json, {"T5Model", "Generation", "LMHeadModel", "Classification", "Answering"}))
        json.fail("architectures", "names a class that is not supported: an encoder without the decoder", FileFault::Unsupported);
    Config config;
    config.architecture = Architecture::EncoderDecoder;
    config.vocab_size = required_size(json, "vocab_size");
    config.d_model = required_size(json, "d_model");
    config.d_head = required_size(json, "d_kv");
    config.num_heads = required_size(json, "num_heads");
    const std::int64_t encoder = required_size(json, "num_layers");
    config.num_layers = json.has("num_decoder_layers") ? required_size(json, "num_decoder_layers") : encoder;
    if (encoder != config.num_layers) config.encoder_layers = encoder;
    config.d_ff = required_size(json, "d_ff");
    config.context_length = json.has("n_positions") ? required_size(json, "n_positions") : 512;
    config.norm_kind = NormKind::Rms;
    config.layer_norm_eps = 1e-6;
    json.read("layer_norm_epsilon", config.layer_norm_eps, 1e-30, 1);
    config.qkv_bias = config.output_bias = config.ffn_bias = false;
    config.score_factor = 1;
    config.position = PositionKind::Buckets;
    json.read("relative_attention_num_buckets", config.position_buckets, 4, std::int64_t{1} << 16);
    json.read("relative_attention_max_distance", config.position_distance, 1, std::int64_t{1} << 40);
    std::string type;
    json.read("model_type", type);
    const bool multilingual = type == "mt5";
    read_feed_forward(json, multilingual ? "gated-gelu" : "relu", config);
    config.tied_lm_head = true;
    // mT5 ties, whatever its file says, unless there is a head in it, and does not scale (models/mt5).
    if (multilingual) return config;
    json.read("tie_word_embeddings", config.tied_lm_head);
    // Version 5 of transformers says it itself; before, models with a head of their own had no factor.
    bool scaled = config.tied_lm_head;
    json.read("scale_decoder_outputs", scaled);
    if (scaled) config.head_factor = 1 / std::sqrt(static_cast<double>(config.d_model));
    return config;
}

/// A block's sublayers are numbered: self-attention, cross-attention (decoder only), feed-forward.
void add_block(std::vector<TensorSource>& out, const Config& config, const std::string& stack, std::int64_t layer, bool cross) {
    const std::string ours = fmt::format("{}layers.{}.", stack, layer), theirs = fmt::format("{}block.{}.layer.", stack, layer);
    const auto add_attention = [&](const std::string& name, const std::string& tensor) {
        for (const char* part : {"q", "k", "v"}) add_linear(out, name + part, tensor + part, true, false);
        add_linear(out, name + "out", tensor + "o", true, false);
    };
    add_norm(out, ours + "norm_1", theirs + "0.layer_norm", config);
    add_attention(ours + "attention.", theirs + "0.SelfAttention.");
    if (cross) {
        add_norm(out, ours + "cross_norm", theirs + "1.layer_norm", config);
        add_attention(ours + "cross_attention.", theirs + "1.EncDecAttention.");
    }
    const std::string last = theirs + (cross ? "2." : "1.");
    add_norm(out, ours + "norm_2", last + "layer_norm", config);
    if (config.ffn_gated) add_linear(out, ours + "ffn.gate", last + "DenseReluDense.wi_0", true, false);
    add_linear(out, ours + "ffn.in", last + (config.ffn_gated ? "DenseReluDense.wi_1" : "DenseReluDense.wi"), true, false);
    add_linear(out, ours + "ffn.out", last + "DenseReluDense.wo", true, false);
}

std::vector<TensorSource> t5_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "shared.weight"}};
    for (const auto& [stack, name] : {std::pair{Stack::Encoder, std::string("encoder.")}, {Stack::Decoder, std::string("decoder.")}}) {
        out.push_back({name + "position_bias.weight", name + "block.0.layer.0.SelfAttention.relative_attention_bias.weight"});
        for (std::int64_t layer = 0; layer < config.layers_of(stack); ++layer) add_block(out, config, name, layer, stack == Stack::Decoder);
        add_norm(out, name + "final_norm", name + "final_layer_norm", config);
    }
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    return out;
}

Leftover t5_leftover(std::string_view tensor, const Config& config) {
    if (tensor == "encoder.embed_tokens.weight" || tensor == "decoder.embed_tokens.weight" || tensor == "shared.weight")
        return Leftover::Copy;
    if (config.tied_lm_head && tensor == "lm_head.weight") return Leftover::Copy;
    // Old files contain an unused table for cross-attention.
    if (tensor.ends_with("EncDecAttention.relative_attention_bias.weight")) return Leftover::Other;
    return Leftover::Unknown;
}

}  // namespace

constinit const Family kT5Family{.name = "T5",
                                 .model_types = kT5Types,
                                 .prefixes = kT5Prefixes,
                                 .read_config = read_t5_config,
                                 .tensors = t5_tensors,
                                 .leftover = t5_leftover,
                                 // T5 was trained on this instruction, which its paper and its config.json give.
                                 .example_source = "translate English to German: Anna gives the small red book to Ben.",
                                 .example_target = "Anna gibt Ben das kleine rote Buch."};

}  // namespace attn
