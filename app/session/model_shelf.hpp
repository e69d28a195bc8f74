#pragma once
/// The models that a person has: opened lately, in a folder of their own, and in the caches that other programs keep. Nothing is fetched.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attn::app {

struct ModelShelf {
    enum class Place : std::uint8_t {
        Recent,  ///< opened before
        Folder,  ///< in the models folder
        Cache,   ///< in a cache
    };
    struct Model {
        std::string name;  ///< "ORG/NAME" out of Hugging Face's cache, else the path within its place
        std::filesystem::path path;
        Place place = Place::Cache;
        std::uint64_t bytes = 0;  ///< of its weights; 0 where that is not known
        std::string problem;      ///< why it cannot be opened; "" when nothing is known to be wrong
    };
    std::filesystem::path folder;  ///< the models folder; empty where none is chosen
    std::string folder_problem;    ///< why it cannot be listed
    std::vector<Model> models;     ///< recent ones first, each path once
};

/// The folders in which transformers keeps what it downloads ($HF_HUB_CACHE, $HF_HOME/hub, else huggingface/hub in $XDG_CACHE_HOME or
/// ~/.cache), and llama.cpp's ($LLAMA_CACHE, ~/.cache/llama.cpp). Only those that are there.
std::vector<std::filesystem::path> model_caches();

/// Looks at names and sizes alone. In the models folder and the caches models lie side by side or one folder deeper. Never throws but for
/// want of memory.
ModelShelf list_models(const std::filesystem::path& folder, const std::vector<std::string>& recent,
                       const std::vector<std::filesystem::path>& caches);

}  // namespace attn::app
