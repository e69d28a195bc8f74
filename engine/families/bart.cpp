/// BART (Lewis et al., 2020), as in huggingface/transformers, models/bart: an encoder-decoder with post-norm, position tables per stack
/// whose first two rows are unused, and a bias of the logits.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kBartTypes = {"bart"}, kBartPrefixes = {"model."};

Config read_bart_config(JsonObject& json) {
    Config config;
    config.architecture = Architecture::EncoderDecoder;
    config.vocab_size = required_size(json, "vocab_size");
    config.d_model = required_size(json, "d_model");
    config.num_layers = required_size(json, "decoder_layers");
    const std::int64_t encoder = required_size(json, "encoder_layers");
    if (encoder != config.num_layers) config.encoder_layers = encoder;
    config.num_heads = required_size(json, "decoder_attention_heads");
    if (const std::int64_t heads = required_size(json, "encoder_attention_heads"); heads != config.num_heads)
        json.fail("encoder_attention_heads",
                  fmt::format("is {}, but a number of heads other than the decoder's {} is not supported", heads, config.num_heads),
                  FileFault::Unsupported);
    config.d_ff = required_size(json, "decoder_ffn_dim");
    if (const std::int64_t wide = required_size(json, "encoder_ffn_dim"); wide != config.d_ff) config.encoder_ff = wide;
    config.context_length = required_size(json, "max_position_embeddings");
    config.stack_positions = true;
    config.norm = NormPlacement::Post;
    config.final_norm = false;
    config.embedding_norm = true;
    config.lm_head_bias = true;
    require_option(json, "tie_word_embeddings", true, true, "a separate output head");
    config.activation = read_activation_word(json, "activation_function", Activation::GeluErf);
    bool scaled = false;
    json.read("scale_embedding", scaled);
    if (scaled) config.embedding_factor = std::sqrt(static_cast<double>(config.d_model));
    return config;
}

void add_layer(std::vector<TensorSource>& out, const Config& config, const std::string& name, bool cross) {
    const auto add_attention = [&](const std::string& ours, const std::string& theirs) {
        for (const char* part : {"q", "k", "v"})
            add_linear(out, name + ours + part, fmt::format("{}{}{}_proj", name, theirs, part), true, true);
        add_linear(out, name + ours + "out", name + theirs + "out_proj", true, true);
    };
    add_attention("attention.", "self_attn.");
    add_norm(out, name + "norm_1", name + "self_attn_layer_norm", config);
    if (cross) {
        add_attention("cross_attention.", "encoder_attn.");
        add_norm(out, name + "cross_norm", name + "encoder_attn_layer_norm", config);
    }
    add_linear(out, name + "ffn.in", name + "fc1", true, true);
    add_linear(out, name + "ffn.out", name + "fc2", true, true);
    add_norm(out, name + "norm_2", name + "final_layer_norm", config);
}

std::vector<TensorSource> bart_tensors(const Config& config) {
    constexpr std::int64_t kUnusedPositions = 2;
    std::vector<TensorSource> out{{"token_embedding.weight", "shared.weight"}};
    if (config.lm_head_bias)
        out.push_back({.parameter = "lm_head.bias", .tensor = "final_logits_bias", .as_row = true, .zero_if_absent = true});
    for (const auto& [stack, name] : {std::pair{Stack::Encoder, std::string("encoder.")}, {Stack::Decoder, std::string("decoder.")}}) {
        out.push_back(
            {.parameter = name + "position_embedding.weight", .tensor = name + "embed_positions.weight", .first_row = kUnusedPositions});
        add_norm(out, name + "embedding_norm", name + "layernorm_embedding", config);
        for (std::int64_t layer = 0; layer < config.layers_of(stack); ++layer)
            add_layer(out, config, fmt::format("{}layers.{}.", name, layer), stack == Stack::Decoder);
    }
    return out;
}

Leftover bart_leftover(std::string_view tensor, const Config&) {
    for (const std::string_view copy : {"shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"})
        if (tensor == copy) return Leftover::Copy;
    return tensor.starts_with("classification_head.") ? Leftover::Other : Leftover::Unknown;
}

}  // namespace

constinit const Family kBartFamily{.name = "BART",
                                   .model_types = kBartTypes,
                                   .prefixes = kBartPrefixes,
                                   .read_config = read_bart_config,
                                   .tensors = bart_tensors,
                                   .leftover = bart_leftover};

}  // namespace attn
