#pragma once
/// Finding the models that a person has.

#include <filesystem>
#include <string>
#include <vector>

#include "app/session/files/model_shelf.hpp"

namespace attn::app {

/// The folders in which transformers keeps what it downloads ($HF_HUB_CACHE, $HF_HOME/hub, else huggingface/hub in $XDG_CACHE_HOME or
/// ~/.cache), and llama.cpp's ($LLAMA_CACHE, ~/.cache/llama.cpp). Only those that are there.
std::vector<std::filesystem::path> model_caches();

/// Looks at names and sizes alone. In the models folder and the caches models lie side by side or one folder deeper. Never throws but for
/// want of memory.
ModelShelf list_models(const std::filesystem::path& folder, const std::vector<std::string>& recent,
                       const std::vector<std::filesystem::path>& caches);

}  // namespace attn::app
