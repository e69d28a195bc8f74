/// Rotary positions in a GGUF file. Keys and defaults: ggml-org/llama.cpp, src/llama-model.cpp; how transformers' rope_parameters become
/// keys: convert_hf_to_gguf.py.

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "engine/families/gguf_model.hpp"

namespace attn {
namespace {

/// The factor of linear scaling and YaRN; 1 where the file gives none.
double scaling_factor(GgufKeys& keys, const char* key) {
    double factor = 0;
    keys.read(key, factor, 0, kMostGgufFactor);
    if (factor > 0 && factor < 1) keys.fail(key, fmt::format("is {}; expected at least 1", factor));
    return factor == 0 ? 1 : factor;
}

/// What rotated vectors are multiplied by. The key holds either of two settings of a config.json: attention_factor, which transformers
/// takes in place of the usual amplitude, or attn_factor, which it ignores. Published models have the latter as the inverse of the usual
/// amplitude, which would make no sense as the former. llama.cpp reads neither.
double yarn_amplitude(GgufKeys& keys, double factor) {
    constexpr const char* kAmplitudeKey = "rope.scaling.yarn_attn_factor";
    constexpr double kRounding = 1e-5;
    const double usual = 0.1 * std::log(factor) + 1;
    double given = usual;
    if (!keys.read(kAmplitudeKey, given, kLeastGgufFactor, kMostGgufFactor) || std::abs(given - usual) < kRounding) return usual;
    if (std::abs(given * usual - 1) < kRounding) {
        keys.note(fmt::format("{} is {:.4g}, which would cancel YaRN's amplitude of {:.4g}: it is ignored here, as in transformers and "
                              "llama.cpp.",
                              kAmplitudeKey, given, usual));
        return usual;
    }
    keys.note(
        fmt::format("{} sets YaRN's amplitude to {:.4g}, as attention_factor does in transformers; llama.cpp ignores it and uses {:.4g}.",
                    kAmplitudeKey, given, usual));
    return given;
}

void read_gguf_yarn(GgufKeys& keys, double factor, double amplitude, RotaryStretch& stretch) {
    stretch.kind = RotaryScaling::Yarn;
    stretch.factor = factor;
    stretch.low = 1, stretch.high = 32;
    for (const char* prefix : {"rope.scaling.", "rope.scaling.yarn_"}) {  // Ollama's names, and llama.cpp's
        keys.read(fmt::format("{}beta_slow", prefix), stretch.low, kLeastGgufFactor, kMostGgufFactor);
        keys.read(fmt::format("{}beta_fast", prefix), stretch.high, kLeastGgufFactor, kMostGgufFactor);
    }
    keys.read("rope.scaling.yarn_truncate", stretch.whole_pairs);
    stretch.amplitude = amplitude * yarn_amplitude(keys, factor);
}

/// Factors for each frequency. Llama 3's scaling does not depend on the text's length, so that GGUF stores it as a divisor per frequency.
void read_gguf_factors(GgufKeys& keys, const Config& config, double amplitude, RotaryStretch& stretch) {
    const std::int64_t frequencies = config.rotated_size() / 2;
    const std::vector<double> always = keys.factors("rope_freqs.weight", frequencies);
    const std::vector<double> longer = always.empty() ? keys.factors("rope_factors_long.weight", frequencies) : always;
    if (longer.empty()) return;
    if (stretch.kind != RotaryScaling::None) keys.fail("rope.scaling.type", "is given together with a factor for each frequency");
    stretch.kind = RotaryScaling::LongRope;
    stretch.long_factors = longer;
    stretch.short_factors = always.empty() ? keys.factors("rope_factors_short.weight", frequencies) : always;
    stretch.amplitude = amplitude;
}

void read_gguf_stretch(GgufKeys& keys, Config& config) {
    RotaryStretch stretch;
    const bool old = !keys.has("rope.scaling.factor") && keys.has("rope.scale_linear");
    const char* const factor_key = old ? "rope.scale_linear" : "rope.scaling.factor";
    std::string type = keys.has(factor_key) ? "linear" : "none";  // a factor alone is linear scaling
    keys.read("rope.scaling.type", type);
    if (type != "none" && type != "linear" && type != "yarn" && type != "longrope")
        keys.fail("rope.scaling.type",
                  fmt::format("is \"{}\", which is not supported; expected none, linear, yarn or longrope", escaped(type)),
                  FileFault::Unsupported);
    stretch.original_context = config.context_length;
    keys.read_size("rope.scaling.original_context_length", stretch.original_context);
    double amplitude = 1;
    keys.read("rope.scaling.attn_factor", amplitude, kLeastGgufFactor, kMostGgufFactor);
    if ((type == "linear" || type == "yarn") && !keys.has(factor_key)) keys.fail(factor_key, "is missing", FileFault::Schema);
    const double factor = scaling_factor(keys, factor_key);
    if (type == "yarn" && factor > 1) {
        read_gguf_yarn(keys, factor, amplitude, stretch);
    } else if (type == "linear" && factor > 1) {
        stretch.kind = RotaryScaling::Linear;
        stretch.factor = factor;
    }
    read_gguf_factors(keys, config, amplitude, stretch);
    if (type == "longrope" && stretch.kind != RotaryScaling::LongRope)
        throw FileError(FileFault::Schema, keys.source(), "rope_factors_long.weight", "is missing");
    const bool has_amplitude = stretch.kind == RotaryScaling::Yarn || stretch.kind == RotaryScaling::LongRope;
    if (amplitude != 1 && !has_amplitude)
        keys.fail("rope.scaling.attn_factor", fmt::format("is {}, which is supported for yarn and longrope only", amplitude),
                  FileFault::Unsupported);
    if (stretch.kind != RotaryScaling::None) config.rotary_stretch = std::move(stretch);
}

}  // namespace

double read_gguf_base(GgufKeys& keys, std::initializer_list<std::string_view> names, double usual, std::string_view remark) {
    keys.assume(names, fmt::format("rotary base {}{}", usual, remark));
    double base = usual;
    for (const std::string_view name : names)
        if (keys.read(name, base, kLeastGgufFactor, std::numeric_limits<double>::max())) break;
    return base;
}

void read_gguf_rotary(GgufKeys& keys, Config& config, std::string_view remark) {
    config.position = PositionKind::Rotary;
    config.rotary_base = read_gguf_base(keys, {"rope.freq_base", "rope.global.freq_base"}, config.rotary_base, remark);
    std::int64_t turned = config.head_size();
    keys.read_size("rope.dimension_count", turned);
    if (turned > config.head_size())
        keys.fail("rope.dimension_count", fmt::format("is {}, but a head has only {} dimensions", turned, config.head_size()));
    config.rotary_size = turned == config.head_size() ? 0 : turned;
    read_gguf_stretch(keys, config);
}

}  // namespace attn
