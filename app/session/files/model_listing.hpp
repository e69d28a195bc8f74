#pragma once
/// Finds the models on the user's machine.

#include <filesystem>
#include <string>
#include <vector>

#include "app/session/document/model_search.hpp"
#include "app/session/files/model_shelf.hpp"

namespace attn::app {

/// Where transformers keeps models on this machine, whether that folder exists or not.
std::filesystem::path hub_cache();
/// The existing cache folders of transformers ($HF_HUB_CACHE, $HF_HOME/hub, else huggingface/hub in $XDG_CACHE_HOME or ~/.cache), of
/// llama.cpp ($LLAMA_CACHE, ~/.cache/llama.cpp) and of Ollama ($OLLAMA_MODELS, ~/.ollama/models, and that of its service).
std::vector<std::filesystem::path> model_caches();

/// The caches and the models folder set in the window, where the model of a moved document may be.
ModelPlaces model_places();

/// Only looks at names and sizes, at config.json, and at Ollama's manifests. Models may lie directly in the models folder and the caches,
/// or one level deeper. Never throws except for lack of memory.
ModelShelf list_models(const std::filesystem::path& folder, const std::vector<std::string>& recent,
                       const std::vector<std::filesystem::path>& caches);

}  // namespace attn::app
