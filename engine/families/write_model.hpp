#pragma once
/// Writes a model as a folder that open_model_folder() opens.

#include <filesystem>
#include <span>
#include <string>

#include "engine/weights/parameters.hpp"

namespace attn {

/// config.json and model.safetensors: as transformers loads them if one of its classes computes exactly this model, otherwise with our
/// configuration and our names (model_type "attnscope"). With the text of every id, also tokenizer.json, if tokenizer_json_of() can make
/// one. Creates the folder, and replaces a model that is there. Throws FileError.
void write_model(const std::filesystem::path& folder, const Parameters<float>& parameters, std::span<const std::string> words = {});

/// Whether the folder has a model already.
bool holds_model(const std::filesystem::path& folder);
/// Whether it is this one, number by number, with a tokenizer of these words. False also if it cannot be read.
bool holds_model(const std::filesystem::path& folder, const Parameters<float>& parameters, std::span<const std::string> words = {});

}  // namespace attn
