/// Reads a GGUF file's metadata as our configuration.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "engine/families/gguf_model.hpp"

namespace attn {
namespace {

constexpr std::int64_t kMostLayers = std::int64_t{1} << 10;  // as in validate(), but needed earlier: some settings allocate per layer

std::string activation_words(Activation activation) {
    switch (activation) {
    case Activation::Relu:
        return "ReLU";
    case Activation::GeluErf:
        return "GELU, by the error function";
    case Activation::GeluTanh:
        return "GELU, by tanh";
    case Activation::Silu:
        return "SiLU";
    case Activation::QuickGelu:
        return "QuickGELU";
    case Activation::GeluClipped:
        return "GELU, clipped";
    }
    return "";
}

// --- shared by most architectures ---------------------------------------------------------------------------------

/// Refuses options that no architecture here supports.
void refuse_unknown_arithmetic(GgufKeys& keys) {
    constexpr std::array<std::pair<const char*, const char*>, 7> kRefused = {
        {{"expert_count", "a mixture of experts"},
         {"attention.clamp_kqv", "clamping of queries, keys and values"},
         {"attention.max_alibi_bias", "ALiBi biases"},
         {"logit_scale", "scaled logits"},
         {"residual_scale", "scaled sublayer outputs"},
         {"embedding_scale", "a scaled embedding"},
         {"rope.scaling.yarn_log_multiplier", "a different scaling of the scores"}}};
    for (const auto& [key, needs] : kRefused) {
        double value = 0;
        if (keys.read(key, value, -kMostGgufFactor, kMostGgufFactor) && value != 0)
            keys.fail(key, fmt::format("is {}, which would need {}", value, needs), FileFault::Unsupported);
    }
}

/// For families without caps of their own, `config` has none.
void refuse_unread_caps(GgufKeys& keys, const Config& config) {
    for (const auto& [key, cap, what] :
         {std::tuple{"attn_logit_softcapping", config.score_cap, "scores"}, {"final_logit_softcapping", config.logit_cap, "logits"}}) {
        double value = 0;
        if (keys.read(key, value, 0, kMostGgufFactor) && value != 0 && cap == 0)
            keys.fail(key, fmt::format("is {}, which would need a cap on {}", value, what), FileFault::Unsupported);
    }
}

Config read_gguf_sizes(GgufKeys& keys) {
    Config config;
    const std::vector<std::int64_t> table = keys.shape("token_embd.weight");
    if (table.empty())
        throw FileError(FileFault::Schema, keys.source(), "token_embd.weight",
                        "the token embedding is missing; attnscope tokenize can still read a file that holds only a vocabulary");
    if (table.size() != 2)
        throw FileError(FileFault::Schema, keys.source(), "token_embd.weight",
                        fmt::format("has {} axes; the token embedding has 2", table.size()));
    config.vocab_size = table[0];
    config.d_model = keys.size("embedding_length");
    config.num_layers = keys.size("block_count", 1, kMostLayers);
    config.num_heads = keys.size("attention.head_count");
    keys.read_size("attention.head_count_kv", config.num_kv_heads);
    if (config.num_kv_heads == config.num_heads) config.num_kv_heads = 0;
    keys.read_size("attention.key_length", config.d_head);
    const std::int64_t values = keys.has("attention.value_length") ? keys.size("attention.value_length") : config.head_size();
    if (config.num_heads > 0 && values != config.head_size())
        keys.fail("attention.value_length",
                  fmt::format("is {}, but that of keys is {}: values of another size are not supported", values, config.head_size()),
                  FileFault::Unsupported);
    if (config.d_head * config.num_heads == config.d_model) config.d_head = 0;
    config.d_ff = keys.size("feed_forward_length");
    config.context_length = keys.size("context_length");
    return config;
}

/// Sets what can be seen from which tensors exist.
void read_gguf_parts(const GgufKeys& keys, const std::string& layer, Config& config) {
    config.qkv_bias = keys.has_tensor(layer + "attn_q.bias") || keys.has_tensor(layer + "attn_qkv.bias");
    config.output_bias = keys.has_tensor(layer + "attn_output.bias");
    config.ffn_bias = keys.has_tensor(layer + "ffn_up.bias");
    config.tied_lm_head = !keys.has_tensor("output.weight");
    config.lm_head_bias = keys.has_tensor("output.bias");
}

/// A sliding window for all layers except every full-th; full = 0: for all layers.
void read_gguf_windows(GgufKeys& keys, Config& config, std::int64_t usual_full, std::int64_t usual_window) {
    std::int64_t window = usual_window, full = usual_full;
    keys.read_size("attention.sliding_window", window, 0);
    if (window == 0) return;
    std::vector<bool> slides(static_cast<std::size_t>(config.num_layers));
    const Json* pattern = keys.value("attention.sliding_window_pattern");
    if (pattern != nullptr && pattern->is_list()) {
        if (pattern->size() < slides.size()) keys.fail("attention.sliding_window_pattern", "has fewer entries than there are layers");
        for (std::size_t i = 0; i < slides.size(); ++i) {
            const Json& entry = pattern->items()[i];
            if (!entry.is_boolean() && !entry.is_unsigned())
                keys.fail("attention.sliding_window_pattern", "expected true or false for every layer", FileFault::Format);
            slides[i] = entry.is_boolean() ? entry.boolean() : entry.as_unsigned() != 0;
        }
    } else {
        keys.read_size("attention.sliding_window_pattern", full, 0);
        for (std::size_t i = 0; i < slides.size(); ++i) slides[i] = full == 0 || (i + 1) % static_cast<std::size_t>(full) != 0;
    }
    config.layer_kinds.resize(slides.size());
    for (std::size_t i = 0; i < slides.size(); ++i)
        if (slides[i]) config.layer_kinds[i].window = window;
}

/// Decoders with RMS norm, RoPE and a gated feed-forward block.
void settle_llama(GgufKeys& keys, Config& config) {
    config.norm_kind = NormKind::Rms;
    config.ffn_gated = true;
    config.activation = Activation::Silu;
    keys.read("attention.layer_norm_rms_epsilon", config.layer_norm_eps, 1e-30, 1);
    keys.read("attention.scale", config.score_factor, 0, kMostGgufFactor);
    read_gguf_rotary(keys, config);
}
void settle_windowed_llama(GgufKeys& keys, Config& config) {
    settle_llama(keys, config);
    if (keys.is_named("phi-3") || keys.is_named("phi3"))
        keys.assume({"attention.sliding_window"}, "no sliding window, though Phi-3 models have one");
    read_gguf_windows(keys, config, 0, 0);
}
/// Decoders with LayerNorm.
void settle_with_layer_norms(GgufKeys& keys, Config& config, Activation activation) {
    config.activation = activation;
    keys.read("attention.layer_norm_epsilon", config.layer_norm_eps, 1e-30, 1);
}

// --- architectures -----------------------------------------------------------------------------------------------

/// Models made from Mistral 7B rarely bear its name. Llamas whose heads share keys and that take more than 4096 tokens have a larger rotary
/// base or a stretch.
bool resembles_mistral(const Config& config) {
    constexpr std::int64_t kLongestLlama = 4096;
    return config.num_kv_heads > 0 && config.context_length > kLongestLlama && config.rotary_base == 10000 &&
           config.rotary_stretch.kind == RotaryScaling::None;
}

/// Converters keep the windows of some models and drop those of Mistral's.
void settle_llama_or_mistral(GgufKeys& keys, Config& config) {
    settle_windowed_llama(keys, config);
    if (keys.is_named("mistral") || resembles_mistral(config))
        keys.assume({"attention.sliding_window"},
                    "no sliding window, though some Mistral models, and models made from them, have one of 4096");
}

void settle_qwen3(GgufKeys& keys, Config& config) {
    settle_windowed_llama(keys, config);
    config.qk_norm = QueryKeyNorm::PerHead;
}

/// Layers without RoPE are not recorded; the only published model omits it in every fourth layer.
void settle_smollm3(GgufKeys& keys, Config& config) {
    constexpr std::size_t kInterval = 4;
    settle_llama(keys, config);
    config.layer_kinds.resize(static_cast<std::size_t>(config.num_layers));
    for (std::size_t i = kInterval - 1; i < config.layer_kinds.size(); i += kInterval) config.layer_kinds[i].rotary = LayerRotary::None;
    keys.assume({}, "every fourth layer without rotary positions");
}

void settle_olmo2(GgufKeys& keys, Config& config) {
    settle_windowed_llama(keys, config);
    config.norm = NormPlacement::Output;
    config.qk_norm = QueryKeyNorm::AllHeads;
    // OLMo 3, which shares the name, stretches rotations only in layers that see the whole text (ggml-org/llama.cpp, pull request 16015).
    if (config.rotary_stretch.kind == RotaryScaling::None) return;
    config.rotary_local_base = config.rotary_base;
    for (LayerKind& kind : config.layer_kinds)
        if (kind.window > 0) kind.rotary = LayerRotary::Local;
}

/// The converter has already added 1 to the gains.
void settle_gemma(GgufKeys& keys, Config& config) {
    settle_llama(keys, config);
    config.activation = Activation::GeluTanh;
    config.embedding_factor = static_cast<double>(std::sqrt(static_cast<float>(config.d_model)));
}

/// Scores are divided by sqrt(d_head), except in the largest model (recognized by its number of layers), which uses sqrt(d_model / heads).
void settle_sandwich(GgufKeys& keys, Config& config, std::int64_t largest) {
    settle_gemma(keys, config);
    config.norm = NormPlacement::Sandwich;
    const double scalar = config.num_layers == largest ? static_cast<double>(config.d_model) / static_cast<double>(config.num_heads)
                                                       : static_cast<double>(config.head_size());
    if (config.score_factor == 0) {
        config.score_factor = 1 / std::sqrt(scalar);
        keys.assume({}, fmt::format("scores divided by √{:g}", scalar));
    }
    keys.read("attn_logit_softcapping", config.score_cap, 0, kMostGgufFactor);
    keys.read("final_logit_softcapping", config.logit_cap, 0, kMostGgufFactor);
}

void settle_gemma2(GgufKeys& keys, Config& config) {
    config.score_cap = 50, config.logit_cap = 30;
    keys.assume({"attn_logit_softcapping"}, "scores capped at 50");
    keys.assume({"final_logit_softcapping"}, "logits capped at 30");
    keys.assume({"attention.sliding_window"}, "a sliding window of 4096");
    keys.assume({"attention.sliding_window_pattern"}, "a sliding window in every other layer");
    settle_sandwich(keys, config, 46);
    read_gguf_windows(keys, config, 2, 4096);
}

/// Ollama's files of the larger models omit that their layers without a window are scaled (ollama/ollama, llama/compat).
void assume_gemma3_scaling(GgufKeys& keys, Config& config) {
    constexpr std::int64_t kLeastContext = 131072;
    if (config.context_length < kLeastContext || config.rotary_stretch.kind != RotaryScaling::None) return;
    for (const char* key : {"rope.scaling.type", "rope.scaling.factor", "rope.scale_linear"})
        if (keys.has(key)) return;
    config.rotary_stretch.kind = RotaryScaling::Linear;
    config.rotary_stretch.factor = 8;
    config.rotary_stretch.original_context = config.context_length;
    keys.assume({}, "positions divided by 8 in layers without a sliding window");
}

void settle_gemma3(GgufKeys& keys, Config& config) {
    config.rotary_base = 1e6;
    settle_sandwich(keys, config, 62);
    config.qk_norm = QueryKeyNorm::PerHead;
    assume_gemma3_scaling(keys, config);
    keys.assume({"attention.sliding_window_pattern"}, "a sliding window in all layers but every sixth");
    read_gguf_windows(keys, config, 6, 0);
    config.rotary_local_base =
        read_gguf_base(keys, {"rope.freq_base_swa", "rope.local.freq_base"}, config.rotary_local_base, " in layers with a sliding window");
    for (LayerKind& kind : config.layer_kinds)
        if (kind.window > 0) kind.rotary = LayerRotary::Local;
    if (config.logit_cap > 0)
        keys.note(fmt::format("The file caps logits at {}, as Ollama's gemma3:1b does; Google's Gemma 3 has no cap.", config.logit_cap));
}

void settle_gpt2(GgufKeys& keys, Config& config) { settle_with_layer_norms(keys, config, Activation::GeluTanh); }

void settle_neox(GgufKeys& keys, Config& config) {
    settle_with_layer_norms(keys, config, Activation::GeluErf);
    bool parallel = true;
    keys.assume({"use_parallel_residual"}, "attention and feed-forward side by side");
    keys.read("use_parallel_residual", parallel);
    if (parallel) config.order = BlockOrder::Parallel;
    read_gguf_rotary(keys, config);
}

void settle_phi2(GgufKeys& keys, Config& config) {
    settle_with_layer_norms(keys, config, Activation::GeluTanh);
    config.order = BlockOrder::ParallelOneNorm;
    read_gguf_rotary(keys, config);
}

void settle_falcon(GgufKeys& keys, Config& config) {
    settle_with_layer_norms(keys, config, Activation::GeluErf);
    config.order = keys.has_tensor("blk.0.attn_norm_2.weight") ? BlockOrder::Parallel : BlockOrder::ParallelOneNorm;
    read_gguf_rotary(keys, config, " (Falcon 2 has 500042: with 10000 its results are wrong)");
}

void settle_bloom(GgufKeys& keys, Config& config) {
    settle_with_layer_norms(keys, config, Activation::GeluTanh);
    config.position = PositionKind::Alibi;
    config.embedding_norm = true;
}

/// The converter drops the masked-word head.
void settle_bert(GgufKeys& keys, Config& config) {
    settle_with_layer_norms(keys, config, Activation::GeluErf);
    config.architecture = Architecture::Encoder;
    config.norm = NormPlacement::Post;
    config.final_norm = config.lm_head = false;
    config.tied_lm_head = true;
    config.embedding_norm = true;
    const std::vector<std::int64_t> segments = keys.shape("token_types.weight");
    if (!segments.empty()) config.num_segments = segments.size() == 2 ? segments[0] : 1;  // a single row may have lost its axis
}

void settle_t5(GgufKeys& keys, Config& config) {
    config.architecture = Architecture::EncoderDecoder;
    const std::int64_t encoder = config.num_layers;
    keys.read_size("decoder_block_count", config.num_layers);
    if (encoder != config.num_layers) config.encoder_layers = encoder;
    config.norm_kind = NormKind::Rms;
    keys.read("attention.layer_norm_rms_epsilon", config.layer_norm_eps, 1e-30, 1);
    config.score_factor = 1;
    config.position = PositionKind::Buckets;
    config.position_buckets = keys.size("attention.relative_buckets_count", 4);
    keys.assume({}, fmt::format("one range for all distances from {}", config.position_distance));
    config.ffn_gated = keys.has_tensor("enc.blk.0.ffn_gate.weight");
    config.activation = config.ffn_gated ? Activation::GeluTanh : Activation::Relu;
    if (config.tied_lm_head) config.head_factor = 1 / std::sqrt(static_cast<double>(config.d_model));
}

struct GgufArchitecture {
    std::string_view name;
    const Family* family;
    void (*settle)(GgufKeys& keys, Config& config);
    double epsilon;  ///< of the norms in published models, for a file that omits it
    GgufLayout layout{};
    bool causal = true;
};
/// Which architectures rotate adjacent pairs: ggml-org/llama.cpp, src/llama-model.cpp, llama_model_rope_type().
constexpr std::array<GgufArchitecture, 16> kArchitectures = {{{"gpt2", &kGpt2Family, settle_gpt2, 1e-5},
                                                              {"gptneox", &kGptNeoxFamily, settle_neox, 1e-5},
                                                              {"llama", &kLlamaFamily, settle_llama_or_mistral, 1e-5, {.neighbours = true}},
                                                              {"qwen2", &kQwen2Family, settle_windowed_llama, 1e-6},
                                                              {"qwen3", &kQwen3Family, settle_qwen3, 1e-6},
                                                              {"smollm3", &kSmolLm3Family, settle_smollm3, 1e-6, {.neighbours = true}},
                                                              {"olmo2", &kOlmo2Family, settle_olmo2, 1e-6},
                                                              {"gemma", &kGemmaFamily, settle_gemma, 1e-6},
                                                              {"gemma2", &kGemma2Family, settle_gemma2, 1e-6},
                                                              {"gemma3", &kGemma3Family, settle_gemma3, 1e-6},
                                                              {"phi2", &kPhiFamily, settle_phi2, 1e-5},
                                                              {"phi3", &kPhi3Family, settle_windowed_llama, 1e-5},
                                                              {"falcon", &kFalconFamily, settle_falcon, 1e-5},
                                                              {"bloom", &kBloomFamily, settle_bloom, 1e-5},
                                                              {"bert", &kBertFamily, settle_bert, 1e-12, {}, false},
                                                              {"t5", &kT5Family, settle_t5, 1e-6, {.output = "attn_o"}}}};

const GgufArchitecture& architecture_of(const GgufFile& file, const std::string& name) {
    std::string known;
    for (const GgufArchitecture& architecture : kArchitectures) {
        if (architecture.name == name) return architecture;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", architecture.name);
    }
    throw FileError(FileFault::Unsupported, file.source(), "general.architecture",
                    fmt::format("models of the architecture \"{}\" cannot be opened yet; those that can are: {}", escaped(name), known));
}

}  // namespace

GgufModel read_gguf_model(const GgufFile& file, const WeightFiles& weights) {
    GgufModel model;
    model.architecture = file.text("general.architecture");
    const GgufArchitecture& architecture = architecture_of(file, model.architecture);
    model.family = architecture.family;
    GgufKeys keys(file, weights, model.architecture);
    refuse_unknown_arithmetic(keys);
    bool causal = architecture.causal;
    keys.read("attention.causal", causal);
    if (causal != architecture.causal)
        keys.fail("attention.causal", fmt::format("is {}, which is not supported for {}", causal, model.family->name),
                  FileFault::Unsupported);
    Config& config = model.config;
    config = read_gguf_sizes(keys);
    config.layer_norm_eps = architecture.epsilon;
    read_gguf_parts(keys, architecture.family == &kT5Family ? "enc.blk.0." : "blk.0.", config);
    architecture.settle(keys, config);
    refuse_unread_caps(keys, config);
    config.any_length = config.position != PositionKind::Learned;
    keys.assume({"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"},
                fmt::format("norms' epsilon {:g}", config.layer_norm_eps));
    keys.assume({}, "feed-forward activation " + activation_words(config.activation));
    model.assumed = keys.take_assumed();
    model.notes = keys.take_notes();
    try {
        validate(config);
    } catch (const ConfigError& error) {
        throw FileError(FileFault::Schema, file.source(), "", error.what());
    }
    if (config.architecture == Architecture::EncoderDecoder) {
        const std::int64_t start = keys.size("decoder_start_token_id", 0);
        if (start >= config.vocab_size)
            keys.fail("decoder_start_token_id", fmt::format("is {}, but the vocabulary has only {} tokens", start, config.vocab_size));
        model.decoder_start = static_cast<std::int32_t>(start);
    }
    model.unread = keys.unread();
    GgufLayout layout = architecture.layout;
    layout.swapped_norms = model.family == &kFalconFamily && config.order == BlockOrder::Parallel;
    model.tensors = gguf_tensors(config, layout, weights);
    return model;
}

}  // namespace attn
