#include "engine/families/stored_parameters.hpp"

#include <utility>

#include "engine/families/gpt2_names.hpp"
#include "engine/families/llama_names.hpp"

namespace attn {
namespace {

StoredParameter stored(std::string name, const ParameterPlace& place, bool transposed = false) {
    StoredParameter parameter{std::move(name), {}, place, transposed};
    if (place.whole->shape.rank() == 1) parameter.shape = {place.columns};
    else parameter.shape = transposed ? std::vector{place.columns, place.rows()} : std::vector{place.rows(), place.columns};
    return parameter;
}

/// Linear maps are [out,in] there, and q, k and v stand apart.
void add_as_llama(const ParameterLayout& layout, const std::string& name, std::vector<StoredParameter>& out) {
    constexpr std::string_view kPacked = "attention.qkv.";
    if (const std::size_t at = name.find(kPacked); at != std::string::npos) {
        for (const char* letter : {"q", "k", "v"})
            add_as_llama(layout, name.substr(0, at) + "attention." + letter + name.substr(at + kPacked.size() - 1), out);
        return;
    }
    const ParameterPlace place = layout.place(name);
    out.push_back(stored(llama_name(name), place, place.whole->shape.rank() == 2 && name != "token_embedding.weight"));
}

}  // namespace

std::vector<float> StoredParameter::gathered(const float* buffer) const {
    const std::int64_t rows = place.rows(), columns = place.columns, stride = place.stride();
    const float* data = buffer + place.offset();
    std::vector<float> out(static_cast<std::size_t>(rows * columns));
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
            out[static_cast<std::size_t>(transposed ? c * rows + r : r * columns + c)] = data[r * stride + c];
    return out;
}

void StoredParameter::scatter(const std::vector<float>& values, float* buffer) const {
    const std::int64_t rows = place.rows(), columns = place.columns, stride = place.stride();
    float* data = buffer + place.offset();
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
            data[r * stride + c] = values[static_cast<std::size_t>(transposed ? c * rows + r : r * columns + c)];
}

std::vector<StoredParameter> stored_parameters(const ParameterLayout& layout, const Config& config) {
    std::vector<StoredParameter> out;
    const bool llama = is_llama(config), gpt2 = config.architecture == Architecture::DecoderOnly && has_gpt2_parts(config);
    for (const ParameterInfo& info : layout.entries()) {
        if (llama) add_as_llama(layout, info.name, out);
        else if (gpt2) out.push_back(stored(gpt2_name(info.name), layout.place(info.name), info.name == "lm_head.weight"));
        else out.push_back(stored(info.name, layout.place(info.name)));
    }
    return out;
}

}  // namespace attn
