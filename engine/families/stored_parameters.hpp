#pragma once
/// Names and shapes under which a model's parameters are written to files.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/trace/trace.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

struct StoredParameter {
    std::string name;         ///< in the file
    ParameterPlace place;     ///< in memory; refers to the layout
    bool transposed = false;  ///< the file's [rows,columns] is [columns,rows] in memory

    /// Shape in the file.
    std::vector<std::int64_t> shape() const;
    /// The file's numbers, gathered from a buffer laid out like the parameters.
    std::vector<float> gathered(const float* buffer) const;
    /// The inverse: writes the file's numbers to their places in the buffer.
    void scatter(const std::vector<float>& values, float* buffer) const;
    /// Whether the buffer holds the numbers in the file's order.
    bool as_it_is() const { return !transposed && place.columns == place.stride(); }
};

/// In layout order. A decoder-only model gets the names that Hugging Face's transformers uses, if one of its classes has the same parts:
/// GPT2LMHeadModel or LlamaForCausalLM. Other models get our own names and shapes. `layout` must outlive the result.
std::vector<StoredParameter> stored_parameters(const ParameterLayout& layout, const Config& config);

/// The config.json with which transformers loads a model stored this way; "" if none of its classes computes such a model.
std::string transformers_config_json(const Config& config);
/// Why transformers could not compute a model that is used with these settings, as the rest of a sentence; "" if it could. Its classes take
/// neither masks other than the causal one nor a temperature, and make no mistakes; dropout and padding are left to who uses them.
std::string unlike_transformers(const Config& config, const ForwardSettings& forward);

}  // namespace attn
