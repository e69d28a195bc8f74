#pragma once
/// The models found on the user's machine: recently opened, in the models folder, and in the caches of other programs. Nothing is
/// downloaded.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attn::app {

struct ModelShelf {
    enum class Place : std::uint8_t {
        Recent,  ///< opened recently
        Folder,  ///< in the models folder
        Cache,   ///< in a cache
    };
    struct Model {
        std::string name;  ///< "ORG/NAME" in Hugging Face's cache, "llama3.2:1b" in Ollama's, otherwise the path relative to its place
        std::filesystem::path path;
        Place place = Place::Cache;
        std::uint64_t bytes = 0;  ///< size of the weights; 0 if unknown
        std::string problem;      ///< why it cannot be opened; "" if no problem is known
    };
    std::filesystem::path folder;  ///< the models folder; empty if none is set
    std::filesystem::path hub;     ///< Hugging Face's cache, whether it exists or not; empty if unknown
    std::string folder_problem;    ///< why it cannot be listed
    std::vector<Model> models;     ///< recent ones first, each path once
};

/// Whether a path belongs to a store that another program keeps, where users save nothing of their own. Never throws except for lack of
/// memory.
bool is_in_store(const std::filesystem::path& path);

}  // namespace attn::app
