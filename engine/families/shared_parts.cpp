#include "engine/families/shared_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace attn {
namespace {

/// Names as in huggingface/transformers, activations.py: ACT2FN.
constexpr std::array<std::pair<std::string_view, Activation>, 9> kActivations = {{{"gelu", Activation::GeluErf},
                                                                                  {"gelu_new", Activation::GeluTanh},
                                                                                  {"gelu_pytorch_tanh", Activation::GeluTanh},
                                                                                  {"gelu_fast", Activation::GeluTanh},
                                                                                  {"relu", Activation::Relu},
                                                                                  {"silu", Activation::Silu},
                                                                                  {"swish", Activation::Silu},
                                                                                  {"quick_gelu", Activation::QuickGelu},
                                                                                  {"gelu_10", Activation::GeluClipped}}};

}  // namespace

std::int64_t required_size(JsonObject& json, std::string_view key, std::int64_t max) {
    std::int64_t value = 0;
    if (!json.read(key, value, 1, max)) json.fail_missing(key);
    return value;
}

Activation read_activation_word(JsonObject& json, std::string_view key, Activation usual) {
    std::string word;
    return json.read(key, word) ? activation_named(json, key, word) : usual;
}

Activation activation_named(JsonObject& json, std::string_view key, std::string_view word) {
    for (const auto& [name, activation] : kActivations)
        if (name == word) return activation;
    std::string known;
    for (const auto& [name, activation] : kActivations) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    json.fail(key, fmt::format("the activation \"{}\" is not supported; expected one of {}", escaped(word), known), FileFault::Unsupported);
}

std::string_view activation_word(Activation activation) {
    return std::find_if(kActivations.begin(), kActivations.end(), [&](const auto& entry) { return entry.second == activation; })->first;
}

void require_option(JsonObject& json, std::string_view key, bool expected, bool usual, std::string_view needs) {
    bool value = usual;
    json.read(key, value);
    if (value != expected) json.fail(key, fmt::format("is {}, which would need {}", value, needs), FileFault::Unsupported);
}

void add_linear(std::vector<TensorSource>& out, const std::string& parameter, const std::string& tensor, bool transposed, bool biased,
                const std::vector<OutputRun>& runs, std::int64_t outputs) {
    out.push_back({parameter + ".weight", tensor + ".weight", transposed, runs, outputs});
    if (biased) out.push_back({parameter + ".bias", tensor + ".bias", false, runs, outputs});
}

void add_norm(std::vector<TensorSource>& out, const std::string& parameter, const std::string& tensor, const Config& config) {
    out.push_back({parameter + ".weight", tensor + ".weight"});
    if (config.norm_kind == NormKind::LayerNorm) out.push_back({parameter + ".bias", tensor + ".bias"});
}

std::int64_t size_or(JsonObject& json, std::string_view key, std::int64_t usual) {
    return usual > 0 && !json.has(key) ? usual : required_size(json, key);
}

Config read_decoder_sizes(JsonObject& json, const UsualSizes& usual) {
    Config config;
    config.architecture = Architecture::DecoderOnly;
    config.vocab_size = size_or(json, "vocab_size", usual.vocabulary);
    config.d_model = size_or(json, "hidden_size", usual.width);
    config.num_layers = size_or(json, "num_hidden_layers", usual.layers);
    config.num_heads = size_or(json, "num_attention_heads", usual.heads);
    config.num_kv_heads = json.has("num_key_value_heads") ? required_size(json, "num_key_value_heads") : usual.kv_heads;
    if (config.num_kv_heads == config.num_heads) config.num_kv_heads = 0;
    config.d_head = json.has("head_dim") ? required_size(json, "head_dim") : usual.head;
    config.context_length = size_or(json, "max_position_embeddings", usual.context);
    config.tied_lm_head = false;
    json.read("tie_word_embeddings", config.tied_lm_head);
    config.qkv_bias = config.output_bias = config.ffn_bias = false;
    return config;
}

std::int64_t read_window(JsonObject& json, std::int64_t usual) {
    json.read("sliding_window", usual, 0, std::int64_t{1} << 40);
    return usual;
}

void read_windows(JsonObject& json, std::int64_t window, Config& config, const std::function<bool(std::int64_t)>& slides) {
    std::vector<std::string> types;
    if (json.read("layer_types", types) && static_cast<std::int64_t>(types.size()) != config.num_layers)
        json.fail("layer_types", fmt::format("has {} entries for {} layers", types.size(), config.num_layers), FileFault::Schema);
    std::vector<LayerKind> kinds(static_cast<std::size_t>(config.num_layers));
    for (std::size_t layer = 0; layer < kinds.size(); ++layer) {
        const bool listed = !types.empty();
        if (listed && types[layer] != "sliding_attention" && types[layer] != "full_attention")
            json.fail("layer_types",
                      fmt::format("names \"{}\"; only sliding_attention and full_attention are supported", escaped(types[layer])),
                      FileFault::Unsupported);
        if (listed ? types[layer] == "sliding_attention" : slides(static_cast<std::int64_t>(layer))) kinds[layer].window = window;
    }
    if (std::any_of(kinds.begin(), kinds.end(), [](const LayerKind& kind) { return kind != LayerKind{}; })) config.layer_kinds = kinds;
}

void read_one_window(JsonObject& json, std::int64_t window, Config& config) {
    read_windows(json, window, config, [](std::int64_t) { return true; });
    const auto count = std::count_if(config.layer_kinds.begin(), config.layer_kinds.end(),
                                     [window](const LayerKind& kind) { return kind.window == window; });
    if (window > 0 && count != config.num_layers)
        json.fail("layer_types", "leaves the window out in some layers; transformers uses sliding_window in every layer of this family",
                  FileFault::Unsupported);
}

void add_self_attn(std::vector<TensorSource>& out, const std::string& layer, const char* output, const Config& config) {
    const std::string ours = layer + "attention.", theirs = layer + "self_attn.";
    for (const char* part : {"q", "k", "v"}) add_linear(out, ours + part, fmt::format("{}{}_proj", theirs, part), true, config.qkv_bias);
    for (const char* part : {"q", "k"})
        if (config.qk_norm != QueryKeyNorm::None)
            out.push_back({fmt::format("{}{}_norm.weight", ours, part), fmt::format("{}{}_norm.weight", theirs, part)});
    add_linear(out, ours + "out", theirs + output, true, config.output_bias);
}

void add_fused_projections(std::vector<TensorSource>& out, const std::string& attention, const std::string& tensor, const Config& config,
                           bool biased) {
    const std::int64_t q = config.attention_width(), k = config.kv_width(), all = q + 2 * k;
    add_linear(out, attention + "q", tensor, true, biased, {{0, q}}, all);
    add_linear(out, attention + "k", tensor, true, biased, {{q, k}}, all);
    add_linear(out, attention + "v", tensor, true, biased, {{q + k, k}}, all);
}

void add_interleaved_projections(std::vector<TensorSource>& out, const std::string& attention, const std::string& tensor,
                                 const Config& config, bool biased) {
    const std::int64_t size = config.head_size(), queries = config.group_size() * size, group = queries + 2 * size;
    std::vector<OutputRun> q, k, v;
    for (std::int64_t g = 0; g < config.kv_heads(); ++g) {
        q.push_back({g * group, queries});
        k.push_back({g * group + queries, size});
        v.push_back({g * group + queries + size, size});
    }
    const std::int64_t all = config.kv_heads() * group;
    add_linear(out, attention + "q", tensor, true, biased, q, all);
    add_linear(out, attention + "k", tensor, true, biased, k, all);
    add_linear(out, attention + "v", tensor, true, biased, v, all);
}

bool names_class(JsonObject& json, std::initializer_list<std::string_view> endings) {
    std::vector<std::string> classes;
    if (!json.read("architectures", classes) || classes.empty()) return true;
    return std::any_of(classes.begin(), classes.end(), [&](const std::string& name) {
        return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
    });
}

Leftover usual_leftover(std::string_view tensor, const Config& config) {
    for (const std::string_view buffer :
         {"rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias"})
        if (tensor.ends_with(buffer)) return Leftover::Buffer;
    if (config.tied_lm_head && (tensor == "lm_head.weight" || tensor == "embed_out.weight")) return Leftover::Copy;
    return tensor.starts_with("score.") ? Leftover::Other : Leftover::Unknown;  // the head of a classifier
}

}  // namespace attn
