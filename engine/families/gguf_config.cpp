/// Reads a GGUF file's metadata as our configuration.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/families/gguf_model.hpp"
#include "engine/families/tensor_numbers.hpp"

namespace attn {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 24;
constexpr std::int64_t kMostLayers = std::int64_t{1} << 10;  // as in validate(), but needed earlier: some settings allocate per layer
constexpr double kLeastFactor = std::numeric_limits<double>::min(), kMostFactor = 1e9;

/// The metadata of one architecture, and the tensors. Keys are given without the architecture's name: "block_count".
class GgufKeys {
public:
    GgufKeys(const GgufFile& file, const WeightFiles& weights, const std::string& architecture)
        : architecture_(architecture), json_(own_keys(file, architecture)), file_(file), weights_(weights) {}

    bool has(std::string_view key) const { return json_.has(full(key)); }
    std::int64_t size(std::string_view key, std::int64_t least = 1, std::int64_t most = kMostSize) {
        std::int64_t value = 0;
        if (!read_size(key, value, least, most)) json_.fail_missing(full(key));
        return value;
    }
    /// A number, or a list with one number per layer, which must all be equal.
    bool read_size(std::string_view key, std::int64_t& value, std::int64_t least = 1, std::int64_t most = kMostSize) {
        const Json* found = json_.value(full(key));
        if (found == nullptr || !found->is_list()) return json_.read(full(key), value, least, most);
        std::vector<double> layers;
        json_.read(full(key), layers, static_cast<double>(least), static_cast<double>(most));
        if (layers.empty()) fail(key, "is an empty list", FileFault::Format);
        if (std::any_of(layers.begin(), layers.end(), [&](double layer) { return layer != layers.front(); }))
            fail(key, "differs from layer to layer, which would need layers of several sizes", FileFault::Unsupported);
        if (layers.front() != std::floor(layers.front())) fail(key, "is not a whole number", FileFault::Format);
        value = static_cast<std::int64_t>(layers.front());
        return true;
    }
    bool read(std::string_view key, double& value, double least, double most) { return json_.read(full(key), value, least, most); }
    bool read(std::string_view key, bool& value) { return json_.read(full(key), value); }
    bool read(std::string_view key, std::string& value) { return json_.read(full(key), value); }
    const Json* value(std::string_view key) { return json_.value(full(key)); }
    [[noreturn]] void fail(std::string_view key, std::string_view problem, FileFault fault = FileFault::Range) const {
        json_.fail(full(key), problem, fault);
    }

    bool has_tensor(const std::string& name) const { return weights_.find(name) != nullptr; }
    /// The shape of a tensor; empty if there is none.
    std::vector<std::int64_t> shape(std::string_view name) const {
        const WeightFiles::Tensor* tensor = weights_.find(name);
        return tensor == nullptr ? std::vector<std::int64_t>() : tensor->array.shape;
    }
    /// Divisors of rotary frequencies; empty if there is no such tensor.
    std::vector<double> factors(const std::string& name) const {
        std::vector<double> out;
        const WeightFiles::Tensor* tensor = weights_.find(name);
        if (tensor == nullptr) return out;
        copy_tensor(weights_, *tensor, out);
        for (std::size_t i = 0; i < out.size(); ++i)
            if (!(out[i] >= kLeastFactor && out[i] <= kMostFactor))
                throw FileError(FileFault::Range, weights_.file_name(*tensor), name,
                                fmt::format("number {} is {}, which cannot divide a frequency", i, out[i]));
        return out;
    }
    const std::string& source() const { return file_.source(); }
    /// Whether the file's name for its model contains `part`, ignoring case.
    bool is_named(std::string_view part) const {
        for (const char* key : {"general.name", "general.basename"}) {
            const Json* value = file_.find(key);
            if (value == nullptr || !value->is_string()) continue;
            std::string name = value->text();
            for (char& c : name)
                if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
            if (name.find(part) != std::string::npos) return true;
        }
        return false;
    }

    /// Records an assumption unless the file has one of the keys.
    void assume(std::initializer_list<std::string_view> keys, std::string what) {
        if (std::none_of(keys.begin(), keys.end(), [this](std::string_view key) { return has(key); })) assumed_.push_back(std::move(what));
    }
    std::vector<std::string> take_assumed() { return std::move(assumed_); }

private:
    static JsonObject own_keys(const GgufFile& file, const std::string& architecture) {
        Json::Members own;
        for (const auto& [key, value] : file.metadata())
            if (key.starts_with(architecture + ".")) own.emplace_back(key, value);
        return JsonObject::of(std::move(own), file.source());
    }
    std::string full(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }

    std::string architecture_;
    JsonObject json_;
    const GgufFile& file_;
    const WeightFiles& weights_;
    std::vector<std::string> assumed_;
};

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
        if (keys.read(key, value, -kMostFactor, kMostFactor) && value != 0)
            keys.fail(key, fmt::format("is {}, which would need {}", value, needs), FileFault::Unsupported);
    }
}

Config read_gguf_sizes(GgufKeys& keys) {
    Config config;
    const std::vector<std::int64_t> table = keys.shape("token_embd.weight");
    if (table.size() != 2) throw FileError(FileFault::Schema, keys.source(), "token_embd.weight", "the token embedding is missing");
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

void read_gguf_stretch(GgufKeys& keys, Config& config) {
    RotaryStretch& stretch = config.rotary_stretch;
    std::string type = "none";
    keys.read("rope.scaling.type", type);
    const char* factor = keys.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
    std::int64_t original = config.context_length;
    keys.read_size("rope.scaling.original_context_length", original);
    double amplitude = 1;
    keys.read("rope.scaling.attn_factor", amplitude, kLeastFactor, kMostFactor);
    if (type == "linear" || type == "yarn") {
        if (!keys.read(factor, stretch.factor, 1, kMostFactor)) keys.fail(factor, "is missing", FileFault::Schema);
        if (stretch.factor == 1) return;
        stretch.kind = type == "linear" ? RotaryScaling::Linear : RotaryScaling::Yarn;
        if (type == "linear") return;
        stretch.low = 1, stretch.high = 32;
        keys.read("rope.scaling.yarn_beta_slow", stretch.low, kLeastFactor, kMostFactor);
        keys.read("rope.scaling.yarn_beta_fast", stretch.high, kLeastFactor, kMostFactor);
        stretch.original_context = original;
        stretch.amplitude = amplitude * (0.1 * std::log(stretch.factor) + 1);
    } else if (type != "none" && type != "longrope") {
        keys.fail("rope.scaling.type",
                  fmt::format("is \"{}\", which is not supported; expected none, linear, yarn or longrope", escaped(type)),
                  FileFault::Unsupported);
    }
    // Llama 3's scaling does not depend on the text's length, and GGUF stores it as a divisor per frequency.
    const std::vector<double> always = keys.factors("rope_freqs.weight");
    const std::vector<double> longer = always.empty() ? keys.factors("rope_factors_long.weight") : always;
    if (longer.empty()) return;
    if (stretch.kind != RotaryScaling::None) keys.fail("rope.scaling.type", "is given together with a factor for each frequency");
    stretch.kind = RotaryScaling::LongRope;
    stretch.long_factors = longer;
    stretch.short_factors = always.empty() ? keys.factors("rope_factors_short.weight") : always;
    stretch.original_context = original;
    stretch.amplitude = amplitude;
}

void read_gguf_rotary(GgufKeys& keys, Config& config) {
    config.position = PositionKind::Rotary;
    config.rotary_base = 10000;
    keys.assume({"rope.freq_base"}, "rotary base 10000");
    keys.read("rope.freq_base", config.rotary_base, kLeastFactor, std::numeric_limits<double>::max());
    std::int64_t turned = config.head_size();
    keys.read_size("rope.dimension_count", turned);
    if (turned > config.head_size())
        keys.fail("rope.dimension_count", fmt::format("is {}, but a head has only {} dimensions", turned, config.head_size()));
    config.rotary_size = turned == config.head_size() ? 0 : turned;
    read_gguf_stretch(keys, config);
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
    keys.read("attention.scale", config.score_factor, 0, kMostFactor);
    read_gguf_rotary(keys, config);
}
void settle_windowed_llama(GgufKeys& keys, Config& config) {
    settle_llama(keys, config);
    // Converters keep the windows of some models and drop those of others.
    if (keys.is_named("mistral"))
        keys.assume({"attention.sliding_window"}, "no sliding window, though some Mistral models have one of 4096");
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
    keys.read("attn_logit_softcapping", config.score_cap, 0, kMostFactor);
    keys.read("final_logit_softcapping", config.logit_cap, 0, kMostFactor);
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

void settle_gemma3(GgufKeys& keys, Config& config) {
    settle_sandwich(keys, config, 62);
    config.qk_norm = QueryKeyNorm::PerHead;
    keys.assume({"attention.sliding_window_pattern"}, "a sliding window in all layers but every sixth");
    keys.assume({"rope.freq_base_swa"}, fmt::format("rotary base {:g} in layers with a sliding window", config.rotary_local_base));
    read_gguf_windows(keys, config, 6, 0);
    keys.read("rope.freq_base_swa", config.rotary_local_base, kLeastFactor, std::numeric_limits<double>::max());
    for (LayerKind& kind : config.layer_kinds)
        if (kind.window > 0) kind.rotary = LayerRotary::Local;
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
    read_gguf_rotary(keys, config);
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
    if (segments.size() == 2) config.num_segments = segments[0];
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
    GgufLayout layout{};
    bool causal = true;
};
/// Which architectures rotate adjacent pairs: ggml-org/llama.cpp, src/llama-model.cpp, llama_model_rope_type().
constexpr std::array<GgufArchitecture, 16> kArchitectures = {{{"gpt2", &kGpt2Family, settle_gpt2},
                                                              {"gptneox", &kGptNeoxFamily, settle_neox},
                                                              {"llama", &kLlamaFamily, settle_windowed_llama, {.neighbours = true}},
                                                              {"qwen2", &kQwen2Family, settle_windowed_llama},
                                                              {"qwen3", &kQwen3Family, settle_qwen3},
                                                              {"smollm3", &kSmolLm3Family, settle_smollm3, {.neighbours = true}},
                                                              {"olmo2", &kOlmo2Family, settle_olmo2},
                                                              {"gemma", &kGemmaFamily, settle_gemma},
                                                              {"gemma2", &kGemma2Family, settle_gemma2},
                                                              {"gemma3", &kGemma3Family, settle_gemma3},
                                                              {"phi2", &kPhiFamily, settle_phi2},
                                                              {"phi3", &kPhi3Family, settle_windowed_llama},
                                                              {"falcon", &kFalconFamily, settle_falcon},
                                                              {"bloom", &kBloomFamily, settle_bloom},
                                                              {"bert", &kBertFamily, settle_bert, {}, false},
                                                              {"t5", &kT5Family, settle_t5, {.output = "attn_o"}}}};

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
    read_gguf_parts(keys, architecture.family == &kT5Family ? "enc.blk.0." : "blk.0.", config);
    architecture.settle(keys, config);
    config.any_length = config.position != PositionKind::Learned;
    keys.assume({"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"},
                fmt::format("norms' epsilon {:g}", config.layer_norm_eps));
    keys.assume({}, "feed-forward activation " + activation_words(config.activation));
    model.assumed = keys.take_assumed();
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
    GgufLayout layout = architecture.layout;
    layout.swapped_norms = model.family == &kFalconFamily && config.order == BlockOrder::Parallel;
    model.tensors = gguf_tensors(config, layout, weights);
    return model;
}

}  // namespace attn
