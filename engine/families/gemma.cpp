/// Gemma 1, 2 and 3, as in huggingface/transformers, models/gemma, gemma2 and gemma3: norms store gain - 1, word embeddings are multiplied
/// by sqrt(d_model), and heads need not add up to d_model. Gemma 2 and 3 also normalize sublayer outputs and alternate layers with and
/// without a sliding window.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "engine/families/shared_parts.hpp"

namespace attn {
namespace {

constexpr std::array<std::string_view, 1> kGemmaTypes = {"gemma"}, kGemma2Types = {"gemma2"}, kGemmaPrefixes = {"model."};
constexpr std::array<std::string_view, 2> kGemma3Types = {"gemma3_text", "gemma3"};
/// In multimodal models the text part has a prefix of its own.
constexpr std::array<std::string_view, 3> kGemma3Prefixes = {"language_model.model.", "model.language_model.", "model."};

constexpr double kUsualBase = 10'000;
constexpr std::int64_t kUsualContext = 8192;

/// The first files say "gelu", but the models were trained with the tanh form (huggingface/transformers, pull request 29402).
Activation read_gemma_activation(JsonObject& json) {
    if (json.has("hidden_activation")) return read_activation_word(json, "hidden_activation", Activation::GeluTanh);
    std::string word;
    json.read("hidden_act", word);
    return word == "gelu" ? Activation::GeluTanh : read_activation_word(json, "hidden_act", Activation::GeluTanh);
}

/// Until version 4.47 transformers read hidden_activation here, since then hidden_act (huggingface/transformers, pull request 35235).
std::string gemma_notes(JsonObject& json) {
    std::string word, trained;
    json.read("hidden_act", word);
    json.read("hidden_activation", trained);
    if (word != "gelu" || trained == "gelu") return "";
    return "config.json says hidden_act \"gelu\", which transformers obeys since version 4.48; here the tanh form is used, with which "
           "Gemma "
           "was trained.";
}

Config read_gemma_sizes(JsonObject& json, const UsualSizes& usual, double usual_base) {
    Config config = read_decoder_sizes(json, usual);
    config.rotary_base = usual_base;
    config.norm_kind = NormKind::RmsPlusOne;
    config.ffn_gated = true;
    if (config.d_head == 0) config.d_head = 256;
    config.d_ff = size_or(json, "intermediate_size", usual.feed_forward);
    config.activation = read_gemma_activation(json);
    config.layer_norm_eps = 1e-6;
    json.read("rms_norm_eps", config.layer_norm_eps, 1e-30, 1);
    if (!json.has("tie_word_embeddings")) config.tied_lm_head = true;
    json.read("attention_bias", config.qkv_bias);
    config.output_bias = config.qkv_bias;
    require_option(json, "use_bidirectional_attention", false, false, "attention to later positions");
    // transformers rounds this factor to the model's precision; here everything is float32.
    config.embedding_factor = static_cast<double>(std::sqrt(static_cast<float>(config.d_model)));
    read_rotary(json, config);
    return config;
}

Config read_gemma_config(JsonObject& json) { return read_gemma_sizes(json, {.context = kUsualContext}, kUsualBase); }

/// What Gemma 2 and 3 add.
Config read_sandwich_config(JsonObject& json, const UsualSizes& usual, double usual_base) {
    constexpr double kMost = 1e9;
    Config config = read_gemma_sizes(json, usual, usual_base);
    config.norm = NormPlacement::Sandwich;
    double scalar = 256;
    json.read("query_pre_attn_scalar", scalar, 1e-9, kMost);
    config.score_factor = 1 / std::sqrt(scalar);
    json.read("attn_logit_softcapping", config.score_cap, 0, kMost);
    json.read("final_logit_softcapping", config.logit_cap, 0, kMost);
    return config;
}

Config read_gemma2_config(JsonObject& json) {
    Config config = read_sandwich_config(json, {.context = kUsualContext}, kUsualBase);
    if (!json.has("attn_logit_softcapping")) config.score_cap = 50;
    if (!json.has("final_logit_softcapping")) config.logit_cap = 30;
    read_windows(json, read_window(json, 4096), config, [](std::int64_t layer) { return layer % 2 == 0; });
    return config;
}

Config read_gemma3_config(JsonObject& top) {
    auto words = top.optional_object("text_config");
    JsonObject& json = words ? *words : top;
    // The text_config of published multimodal models only lists what differs from the class.
    const UsualSizes usual{.vocabulary = 262'208,
                           .width = 2304,
                           .layers = 26,
                           .heads = 8,
                           .kv_heads = 4,
                           .head = 256,
                           .feed_forward = 9216,
                           .context = 131'072};
    Config config = read_sandwich_config(json, usual, 1e6);
    if (config.score_cap != 0)
        json.fail("attn_logit_softcapping", fmt::format("is {}, but Gemma 3 does not cap scores", config.score_cap),
                  FileFault::Unsupported);
    config.qk_norm = QueryKeyNorm::PerHead;
    std::int64_t pattern = 6;
    json.read("sliding_window_pattern", pattern, 1, std::int64_t{1} << 20);
    json.read("rope_local_base_freq", config.rotary_local_base, 1e-9, 1e15);
    read_windows(json, read_window(json, 4096), config, [pattern](std::int64_t layer) { return (layer + 1) % pattern != 0; });
    for (LayerKind& kind : config.layer_kinds)
        if (kind.window > 0) kind.rotary = LayerRotary::Local;
    return config;
}

std::vector<TensorSource> gemma_tensors(const Config& config) {
    std::vector<TensorSource> out{{"token_embedding.weight", "embed_tokens.weight"}};
    const bool sandwich = config.norm == NormPlacement::Sandwich;
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
        const std::string name = fmt::format("layers.{}.", layer);
        add_norm(out, name + "norm_1", name + "input_layernorm", config);
        add_self_attn(out, name, "o_proj", config);
        if (sandwich) {
            add_norm(out, name + "attention_norm", name + "post_attention_layernorm", config);
            add_norm(out, name + "norm_2", name + "pre_feedforward_layernorm", config);
            add_norm(out, name + "ffn_norm", name + "post_feedforward_layernorm", config);
        } else {
            add_norm(out, name + "norm_2", name + "post_attention_layernorm", config);
        }
        add_linear(out, name + "ffn.gate", name + "mlp.gate_proj", true, false);
        add_linear(out, name + "ffn.in", name + "mlp.up_proj", true, false);
        add_linear(out, name + "ffn.out", name + "mlp.down_proj", true, false);
    }
    add_norm(out, "final_norm", "norm", config);
    if (!config.tied_lm_head) out.push_back({"lm_head.weight", "lm_head.weight", true});
    return out;
}

constexpr Family gemma_like(std::string_view name, std::span<const std::string_view> types, std::span<const std::string_view> prefixes,
                            Config (*read)(JsonObject&)) {
    return {.name = name,
            .model_types = types,
            .prefixes = prefixes,
            .read_config = read,
            .tensors = gemma_tensors,
            .leftover = usual_leftover};
}

constexpr Family with_notes(Family family) {
    family.notes = gemma_notes;
    return family;
}

}  // namespace

constinit const Family kGemmaFamily = with_notes(gemma_like("Gemma", kGemmaTypes, kGemmaPrefixes, read_gemma_config));
constinit const Family kGemma2Family = gemma_like("Gemma 2", kGemma2Types, kGemmaPrefixes, read_gemma2_config);
constinit const Family kGemma3Family = gemma_like("Gemma 3", kGemma3Types, kGemma3Prefixes, read_gemma3_config);

}  // namespace attn
