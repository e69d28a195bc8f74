#include "engine/families/gpt2_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/json_object.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

constexpr std::string_view kPrefix = "transformer.";
constexpr std::string_view kHead = "lm_head.weight", kTokenTable = "transformer.wte.weight", kPositionTable = "transformer.wpe.weight";
constexpr std::string_view kLayer = "layers.";
constexpr std::int64_t kUsualHead = 64;

struct PartName {
    std::string_view ours, theirs;
};
constexpr std::array<PartName, 6> kLayerParts = {{{"norm_1", "ln_1"},
                                                  {"attention.qkv", "attn.c_attn"},
                                                  {"attention.out", "attn.c_proj"},
                                                  {"norm_2", "ln_2"},
                                                  {"ffn.in", "mlp.c_fc"},
                                                  {"ffn.out", "mlp.c_proj"}}};
constexpr std::array<PartName, 4> kOuterParts = {
    {{"token_embedding", "wte"}, {"position_embedding", "wpe"}, {"final_norm", "ln_f"}, {"lm_head", "lm_head"}}};

const char* activation_name(Activation activation) {
    switch (activation) {
    case Activation::Relu:
        return "relu";
    case Activation::GeluErf:
        return "gelu";
    case Activation::GeluTanh:
        return "gelu_new";
    case Activation::Silu:
        return "silu";
    }
    return "";
}

/// The number of a layer's name, "transformer.h.11.ln_1.weight" -> 11.
std::optional<std::int64_t> layer_of(std::string_view name) {
    constexpr std::string_view kBefore = "transformer.h.";
    if (!name.starts_with(kBefore)) return std::nullopt;
    name.remove_prefix(kBefore.size());
    std::int64_t layer = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
    if (error != std::errc() || end == name.data() + name.size() || *end != '.' || layer < 0) return std::nullopt;
    return layer;
}

/// Masks that old versions of transformers stored with the weights.
bool is_mask_buffer(std::string_view name) {
    return layer_of(name) && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

class Adopter {
public:
    explicit Adopter(ArrayFile& file) : file_(file) {}

    Config adopt(const std::string& config_json) {
        rename();
        read_shapes();
        adopt_head();
        read_config_json(config_json);
        return config_;
    }

private:
    void read_shapes() {
        const auto [vocabulary, width] = matrix(kTokenTable);
        config_.vocab_size = vocabulary;
        config_.d_model = width;
        config_.context_length = matrix(kPositionTable).first;
        for (const NamedArray& array : file_.arrays)
            if (const std::optional<std::int64_t> layer = layer_of(array.name))
                // A hole in the numbering shows later, as a tensor that is missing.
                config_.num_layers = std::max(config_.num_layers, std::min(*layer, static_cast<std::int64_t>(kMaxArrays)) + 1);
        if (config_.num_layers == 0) fail("", "has no layers: expected tensors such as transformer.h.0.ln_1.weight");
        config_.d_ff = matrix("transformer.h.0.mlp.c_fc.weight").second;
    }

    void read_config_json(const std::string& text) {
        if (text.empty()) {
            config_.num_heads = config_.d_model / kUsualHead;
            if (config_.d_model % kUsualHead != 0)
                fail("",
                     fmt::format(
                         "the number of heads is unknown: {} columns are no multiple of {}, GPT-2's head size; a config.json beside the "
                         "file would tell",
                         config_.d_model, kUsualHead));
            return;
        }
        const std::string source = file_.source + ", its config.json";
        JsonObject object(text, source);
        if (!object.read("n_head", config_.num_heads, 1, 1 << 12)) object.fail_missing("n_head");
        constexpr std::array<std::string_view, 5> kTheirNames = {"gelu_new", "gelu", "relu", "gelu_pytorch_tanh", "gelu_fast"};
        constexpr std::array<Activation, 5> kMeanings = {Activation::GeluTanh, Activation::GeluErf, Activation::Relu, Activation::GeluTanh,
                                                         Activation::GeluTanh};
        std::size_t activation = 0;
        if (object.read_choice("activation_function", kTheirNames, activation)) config_.activation = kMeanings.at(activation);
        object.read("layer_norm_epsilon", config_.layer_norm_eps, 1e-30, 1);
        bool scaled = true, by_layer = false;
        if (object.read("scale_attn_weights", scaled) && !scaled)
            object.fail("scale_attn_weights", "expected true: attnscope always scales the scores");
        if (object.read("scale_attn_by_inverse_layer_idx", by_layer) && by_layer)
            object.fail("scale_attn_by_inverse_layer_idx", "expected false: attnscope scales the scores alike in every layer");
    }

    [[noreturn]] void fail(std::string_view tensor, std::string_view problem) const {
        throw FileError(FileFault::Schema, file_.source, escaped(tensor), problem);
    }

    void rename() {
        std::erase_if(file_.arrays, [](const NamedArray& array) {
            return is_mask_buffer(array.name.starts_with(kPrefix) ? array.name : std::string(kPrefix) + array.name);
        });
        for (NamedArray& array : file_.arrays)
            if (array.name != kHead && !array.name.starts_with(kPrefix)) array.name.insert(0, kPrefix);
    }

    std::pair<std::int64_t, std::int64_t> matrix(std::string_view name) const {
        const NamedArray* array = file_.find(name);
        if (array == nullptr) fail(name, "this tensor is missing: neither a checkpoint of attnscope nor a GPT-2 model");
        if (array->shape.size() != 2) fail(name, fmt::format("expected two axes, found the shape {}", shape_text(array->shape)));
        return {array->shape[0], array->shape[1]};
    }

    void adopt_head() {
        const auto head = std::find_if(file_.arrays.begin(), file_.arrays.end(), [](const NamedArray& a) { return a.name == kHead; });
        if (head == file_.arrays.end()) return;
        const NamedArray& tokens = file_.at(kTokenTable);
        config_.tied_lm_head = head->dtype == tokens.dtype && head->shape == tokens.shape && head->bytes == tokens.bytes;
        if (config_.tied_lm_head) file_.arrays.erase(head);
    }

    ArrayFile& file_;
    Config config_{.num_layers = 0};
};

}  // namespace

std::string gpt2_name(std::string_view ours) {
    if (ours == kHead) return std::string(ours);
    const std::size_t last_dot = ours.rfind('.');
    const std::string_view kind = ours.substr(last_dot);
    std::string_view part = ours.substr(0, last_dot);
    std::string layer;
    if (part.starts_with(kLayer)) {
        part.remove_prefix(kLayer.size());
        const std::size_t dot = part.find('.');
        layer = fmt::format("h.{}.", part.substr(0, dot));
        part.remove_prefix(dot + 1);
    }
    const auto translate = [&](const auto& parts) -> std::string {
        for (const PartName& name : parts)
            if (name.ours == part) return fmt::format("{}{}{}{}", kPrefix, layer, name.theirs, kind);
        throw Error("GPT-2 has no name for the parameter " + std::string(ours));
    };
    return layer.empty() ? translate(kOuterParts) : translate(kLayerParts);
}

bool has_gpt2_parts(const Config& config) {
    return !has_later_parts(config) && config.norm_kind == NormKind::LayerNorm && config.position != PositionKind::Rotary &&
           !config.grouped() && !config.ffn_gated && config.ffn_bias && !config.scale_by_layer;
}

bool is_gpt2(const Config& config) {
    return config.architecture == Architecture::DecoderOnly && has_gpt2_parts(config) && config.norm == NormPlacement::Pre &&
           config.position == PositionKind::Learned && config.qkv_bias && config.output_projection && config.output_bias &&
           config.residual && config.feed_forward && config.final_norm && config.lm_head && config.attention_width() == config.d_model;
}

std::string gpt2_config_json(const Config& config) {
    if (!is_gpt2(config)) throw ConfigError("this model is not a GPT-2");
    const Json json{{"architectures", {"GPT2LMHeadModel"}},
                    {"model_type", "gpt2"},
                    {"vocab_size", config.vocab_size},
                    {"n_positions", config.context_length},
                    {"n_embd", config.d_model},
                    {"n_head", config.num_heads},
                    {"n_layer", config.num_layers},
                    {"n_inner", config.d_ff},
                    {"activation_function", activation_name(config.activation)},
                    {"layer_norm_epsilon", config.layer_norm_eps},
                    {"tie_word_embeddings", config.tied_lm_head},
                    {"torch_dtype", "float32"}};
    return json.dump(2) + "\n";
}

Config adopt_gpt2(ArrayFile& file, const std::string& config_json) { return Adopter(file).adopt(config_json); }

}  // namespace attn
