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

}  // namespace attn::app
