#include "engine/families/stored_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/families/family.hpp"
#include "engine/plan/mistake.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/matrix.hpp"

namespace attn {
namespace {

/// The family whose format the model is written in; null if none has names for all its parts.
const Family* written_family(const Config& config) {
    for (const Family* family : families())
        if (family->names != nullptr && family->names(config)) return family;
    return nullptr;
}

/// Matrices that share a tensor of the family also share an entry of ours, in the same order.
std::vector<StoredParameter> named_by(const Family& family, const ParameterLayout& layout, const Config& config) {
    std::vector<StoredParameter> parts;
    std::int64_t numbers = 0;
    for (const TensorSource& source : family.tensors(config)) {
        const ParameterPlace place = layout.place(source.parameter);
        if (place.whole == nullptr) continue;  // a bias that the family always has but this model lacks
        const std::string_view prefix = source.tensor.starts_with("lm_head.") ? "" : family.prefixes.front();
        parts.push_back({std::string(prefix) + source.tensor, place, source.transposed});
        numbers += place.shape().count();
    }
    if (numbers != layout.count()) throw Error(std::string(family.name) + " has no names for all parameters of this model");
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.place.offset() < b.place.offset(); });
    std::vector<StoredParameter> out;
    for (StoredParameter& part : parts) {
        if (!out.empty() && out.back().name == part.name) out.back().place.columns += part.place.columns;
        else out.push_back(std::move(part));
    }
    return out;
}

template <class Scalar>
MatrixAt<Scalar> in_memory(const ParameterPlace& place, Scalar* buffer) {
    return matrix_at(buffer + place.offset(), place.rows(), place.columns, place.stride());
}

}  // namespace

std::vector<std::int64_t> StoredParameter::shape() const {
    if (place.whole->shape.rank() == 1) return {place.columns};
    return transposed ? std::vector{place.columns, place.rows()} : std::vector{place.rows(), place.columns};
}

std::vector<float> StoredParameter::gathered(const float* buffer) const {
    const auto matrix = in_memory(place, buffer);
    std::vector<float> out(static_cast<std::size_t>(matrix.size()));
    if (transposed) matrix_at(out.data(), place.columns, place.rows()) = matrix.transpose();
    else matrix_at(out.data(), place.rows(), place.columns) = matrix;
    return out;
}

void StoredParameter::scatter(const std::vector<float>& values, float* buffer) const {
    auto matrix = in_memory(place, buffer);
    if (transposed) matrix = matrix_at(values.data(), place.columns, place.rows()).transpose();
    else matrix = matrix_at(values.data(), place.rows(), place.columns);
}

std::vector<StoredParameter> stored_parameters(const ParameterLayout& layout, const Config& config) {
    if (const Family* family = written_family(config)) return named_by(*family, layout, config);
    std::vector<StoredParameter> out;
    for (const ParameterInfo& info : layout.entries()) out.push_back({info.name, layout.place(info.name)});
    return out;
}

std::string transformers_config_json(const Config& config) {
    const Family* family = written_family(config);
    return family == nullptr ? "" : family->config_json(config);
}

std::string unlike_transformers(const Config& config, const ForwardSettings& forward) {
    if (transformers_config_json(config).empty()) return "none of its classes has exactly the parts of this model";
    const MaskSettings& masks = forward.masks;
    const auto setting = [](const std::string& words) { return fmt::format("it has no setting for {}", words); };
    if (!masks.causal) return setting("attention to later positions (train.forward.masks.causal is off)");
    if (masks.window != 0) return setting(fmt::format("this window of keys (train.forward.masks.window is {})", masks.window));
    if (masks.prefix != 0) return setting(fmt::format("a prefix that all see (train.forward.masks.prefix is {})", masks.prefix));
    if (masks.block != 0) return setting(fmt::format("attention within blocks (train.forward.masks.block is {})", masks.block));
    if (!masks.painted.empty()) return setting("cells masked by hand (train.forward.masks.painted)");
    if (forward.temperature != 1)
        return setting(fmt::format("the temperature of attention (train.forward.temperature is {})", forward.temperature));
    if (forward.mistaken()) return setting(fmt::format("the mistake {}", mistake_name(forward.mistake)));
    if (!forward.edits.empty()) return setting("edited numbers (train.forward.edits)");
    return "";
}

}  // namespace attn
