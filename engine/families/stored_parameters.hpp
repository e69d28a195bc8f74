#pragma once
/// Under which names and in which shapes a model's parameters stand in a file.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/weights/parameters.hpp"

namespace attn {

struct StoredParameter {
    std::string name;                 ///< in the file
    std::vector<std::int64_t> shape;  ///< in the file
    ParameterPlace place;             ///< in memory; refers to the layout
    bool transposed = false;          ///< the file's [rows, columns] are [columns, rows] in memory

    /// The file's numbers out of a parameter-shaped buffer.
    std::vector<float> gathered(const float* buffer) const;
    /// The inverse: puts the file's numbers into their places.
    void scatter(const std::vector<float>& values, float* buffer) const;
    /// The numbers stand in the buffer as they do in the file.
    bool as_it_is() const { return !transposed && place.columns == place.stride(); }
};

/// A decoder-only model under the names that Hugging Face's transformers gives it, where it has a class for such models: as
/// GPT2LMHeadModel (see gpt2_names.hpp) or LlamaForCausalLM (see llama_names.hpp). Other models under our own names and shapes.
/// `layout` has to outlive the result.
std::vector<StoredParameter> stored_parameters(const ParameterLayout& layout, const Config& config);

}  // namespace attn
