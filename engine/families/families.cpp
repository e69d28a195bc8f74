#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/families/family.hpp"

namespace attn {
namespace {

constexpr std::array<const Family*, 22> kFamilies = {
    &kGpt2Family,   &kGptNeoFamily, &kGptNeoxFamily, &kLlamaFamily,      &kMistralFamily, &kQwen2Family, &kQwen3Family, &kSmolLm3Family,
    &kOlmo2Family,  &kGemmaFamily,  &kGemma2Family,  &kGemma3Family,     &kPhiFamily,     &kPhi3Family,  &kOptFamily,   &kBloomFamily,
    &kFalconFamily, &kBertFamily,   &kRobertaFamily, &kDistilBertFamily, &kT5Family,      &kBartFamily};

/// Names as in huggingface/transformers, activations.py: ACT2FN.
constexpr std::array<std::pair<std::string_view, Activation>, 7> kActivations = {{{"gelu", Activation::GeluErf},
                                                                                  {"gelu_new", Activation::GeluTanh},
                                                                                  {"gelu_pytorch_tanh", Activation::GeluTanh},
                                                                                  {"gelu_fast", Activation::GeluTanh},
                                                                                  {"relu", Activation::Relu},
                                                                                  {"silu", Activation::Silu},
                                                                                  {"swish", Activation::Silu}}};

}  // namespace

std::span<const Family* const> families() { return kFamilies; }

const Family* find_family(std::string_view model_type) {
    for (const Family* family : kFamilies)
        if (std::find(family->model_types.begin(), family->model_types.end(), model_type) != family->model_types.end()) return family;
    return nullptr;
}

std::int64_t required_size(JsonObject& json, std::string_view key, std::int64_t max) {
    std::int64_t value = 0;
    if (!json.read(key, value, 1, max)) json.fail_missing(key);
    return value;
}

Activation read_activation_word(JsonObject& json, std::string_view key, Activation usual) {
    std::string word;
    if (!json.read(key, word)) return usual;
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

}  // namespace attn
