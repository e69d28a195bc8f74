#pragma once
/// Under which names and in which shapes a model's parameters stand in a file that we write.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/weights/parameters.hpp"

namespace attn {

struct StoredParameter {
    std::string name;         ///< in the file
    ParameterPlace place;     ///< in memory; refers to the layout
    bool transposed = false;  ///< the file's [rows, columns] are [columns, rows] in memory

    /// In the file.
    std::vector<std::int64_t> shape() const;
    /// The file's numbers out of a parameter-shaped buffer.
    std::vector<float> gathered(const float* buffer) const;
    /// The inverse: puts the file's numbers into their places.
    void scatter(const std::vector<float>& values, float* buffer) const;
    /// The numbers stand in the buffer as they do in the file.
    bool as_it_is() const { return !transposed && place.columns == place.stride(); }
};

/// In the order of the layout. A decoder-only model under the names that Hugging Face's transformers gives it, where it has a class with
/// such parts: GPT2LMHeadModel or LlamaForCausalLM. Other models under our own names and shapes. `layout` has to outlive the result.
std::vector<StoredParameter> stored_parameters(const ParameterLayout& layout, const Config& config);

/// Text of the config.json with which transformers loads a model that is stored so; "" where none of its classes computes such a model.
std::string transformers_config_json(const Config& config);

}  // namespace attn
