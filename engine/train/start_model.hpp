#pragma once
/// A model that is trained further, as a run begins with it.

#include <memory>
#include <string>
#include <vector>

#include "engine/weights/parameters.hpp"

namespace attn {

struct StartModel {
    std::shared_ptr<const Parameters<float>> parameters;
    std::vector<std::string> words;  ///< the text of every id, "" where it has none; all "" for a model without a tokenizer
};

/// Opens a model's folder or GGUF file. Throws FileError as open_model_folder() and load_parameters() do.
StartModel open_start_model(const std::string& path);

/// The words of a tokenizer's vocabulary: "" for unused_name().
std::vector<std::string> words_of(const std::vector<std::string>& vocabulary);

}  // namespace attn
