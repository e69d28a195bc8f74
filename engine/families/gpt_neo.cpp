/// GPT-Neo (Black et al., 2021), as in huggingface/transformers, models/gpt_neo: scores are not scaled, and layers with and without a
/// sliding window alternate.

#include <fmt/format.h>

#include <array>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kNeoTypes = {"gpt_neo"}, kNeoPrefixes = {"transformer."};

/// "global" or "local" for every layer: attention_layers, or attention_types, such as [[["global", "local"], 12]], expanded.
std::vector<std::string> read_layers(JsonObject& json, std::int64_t layers) {
    std::vector<std::string> out;
    if (json.read("attention_layers", out)) return out;
    const Json* types = json.value("attention_types");
    const auto refuse = [&] { json.fail("attention_types", "is not a list of [[\"global\", \"local\", ...], times]", FileFault::Schema); };
    if (types == nullptr) {
        for (int time = 0; time < 12; ++time) out.insert(out.end(), {"global", "local"});
        return out;
    }
    if (!types->is_list()) refuse();
    for (const Json& pair : types->items()) {
        if (!pair.is_list() || pair.size() != 2 || !pair.items()[0].is_list() || !pair.items()[1].is_unsigned()) refuse();
        for (std::uint64_t time = 0; time < pair.items()[1].as_unsigned() && static_cast<std::int64_t>(out.size()) <= layers; ++time)
            for (const Json& kind : pair.items()[0].items()) {
                if (!kind.is_string()) refuse();
                out.push_back(kind.text());
            }
    }
    return out;
}

Config read_neo_config(JsonObject& json) {
    Config config;
    config.architecture = Architecture::DecoderOnly;
    config.vocab_size = required_size(json, "vocab_size");
    config.d_model = required_size(json, "hidden_size");
    config.num_layers = required_size(json, "num_layers", 1 << 10);
    config.num_heads = required_size(json, "num_heads");
    config.context_length = required_size(json, "max_position_embeddings");
    config.d_ff = json.has("intermediate_size") ? required_size(json, "intermediate_size") : 4 * config.d_model;
    config.activation = read_activation_word(json, "activation_function", Activation::GeluTanh);
    json.read("layer_norm_epsilon", config.layer_norm_eps, 1e-30, 1);
    config.tied_lm_head = true;
    json.read("tie_word_embeddings", config.tied_lm_head);
    config.qkv_bias = false;
    config.score_factor = 1;
    const std::vector<std::string> layers = read_layers(json, config.num_layers);
    if (static_cast<std::int64_t>(layers.size()) != config.num_layers)
        json.fail("attention_layers", fmt::format("has {} entries for {} layers", layers.size(), config.num_layers), FileFault::Schema);
    std::int64_t window = 256;
    json.read("window_size", window, 1, std::int64_t{1} << 40);
    for (const std::string& layer : layers) {
        if (layer != "global" && layer != "local")
            json.fail("attention_layers", fmt::format("names \"{}\", which is neither global nor local", escaped(layer)),
                      FileFault::Unsupported);
        config.layer_kinds.push_back({layer == "local" ? window : 0});
    }
    return config;
}

std::vector<TensorSource> neo_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "wte.weight"}, {"position_embedding.weight", "wpe.weight"}};
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string ours = fmt::format("layers.{}.", layer), theirs = fmt::format("h.{}.", layer);
        add_norm(out, ours + "norm_1", theirs + "ln_1", config);
        for (const char* part : {"q", "k", "v"})
            add_linear(out, ours + "attention." + part, fmt::format("{}attn.attention.{}_proj", theirs, part), true, false);
        add_linear(out, ours + "attention.out", theirs + "attn.attention.out_proj", true, true);
        add_norm(out, ours + "norm_2", theirs + "ln_2", config);
        add_linear(out, ours + "ffn.in", theirs + "mlp.c_fc", true, true);
        add_linear(out, ours + "ffn.out", theirs + "mlp.c_proj", true, true);
    }
    add_norm(out, "final_norm", "ln_f", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    return out;
}

}  // namespace

constinit const Family kGptNeoFamily{.name = "GPT-Neo",
                                     .model_types = kNeoTypes,
                                     .prefixes = kNeoPrefixes,
                                     .read_config = read_neo_config,
                                     .tensors = neo_tensors,
                                     .leftover = usual_leftover};

}  // namespace attn
