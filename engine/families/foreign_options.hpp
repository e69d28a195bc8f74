#pragma once
/// Options in a config.json that only other families read.

#include <string>
#include <vector>

#include "engine/io/json_object.hpp"

namespace attn {

/// The set options that no one has read and that change what models of other families compute, such as the number of experts. Options that
/// are off are left out. Facts: the configurations of Granite, OLMo, Cohere and the mixture-of-experts models in huggingface/transformers.
std::vector<std::string> foreign_options(const JsonObject& json);

}  // namespace attn
