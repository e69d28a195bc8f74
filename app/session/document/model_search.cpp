#include "app/session/document/model_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "engine/families/model_folder.hpp"
#include "engine/io/hub_cache.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;

/// The part of a path from the folder models--ORG--NAME on; empty outside of Hugging Face's cache.
fs::path from_hub_entry(const fs::path& path) {
    fs::path part;
    for (const fs::path& name : path)
        if (!part.empty() || name.native().starts_with("models--")) part /= name;
    return part;
}

/// What the model may be called within a folder of models, the likeliest first.
std::vector<fs::path> names_of(const fs::path& given) {
    fs::path path = given.lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // it ends with a slash
    const fs::path name = path.filename(), folder = path.parent_path().filename();
    const fs::path in_cache = from_hub_entry(path);
    if (in_cache.empty()) return {name, folder / name, fmt::format("models--{}--{}", folder.string(), name.string())};
    const fs::path full = hub_name(path);
    return {in_cache, *in_cache.begin(), full, full.filename()};
}

bool is_chosen_for(const ModelPlaces& places, const ModelReference& reference) {
    return !places.chosen.empty() && places.chosen_for == reference.path;
}

std::vector<fs::path> candidates(const ModelReference& reference, const ModelPlaces& places) {
    std::vector<fs::path> found;
    if (is_chosen_for(places, reference)) found.push_back(places.chosen);
    if (!places.document_folder.empty() && !reference.beside.empty()) found.push_back(places.document_folder / reference.beside);
    std::vector<fs::path> folders = places.shelves;
    if (!places.document_folder.empty()) folders.insert(folders.begin(), places.document_folder);
    for (const fs::path& folder : folders)
        for (const fs::path& name : names_of(reference.path))
            if (const fs::path place = (folder / name).lexically_normal(); place.has_filename()) found.push_back(place);
    return found;
}

bool has_same_sizes(const Config& a, const Config& b) {
    const auto sizes = [](const Config& c) {
        return std::tuple(c.architecture, c.vocab_size, c.d_model, c.num_heads, c.kv_heads(), c.head_size(), c.num_layers,
                          c.layers_of(Stack::Encoder), c.d_ff, c.ff_of(Stack::Encoder));
    };
    return sizes(a) == sizes(b);
}

/// Why it is not the model that is meant; "" if it is.
std::string_view difference(const ModelReference& reference, const OpenedModel& model) {
    if (reference.config && !has_same_sizes(*reference.config, model.config())) return "its sizes differ";
    if (!reference.tensors.empty() && reference.tensors != model.identity()->tensors) return "the names of its tensors differ";
    return "";
}

/// Where the search went, as the rest of a sentence.
std::string searched(const ModelPlaces& places, const std::string& others) {
    if (!others.empty()) return others;
    if (places.document_folder.empty()) return "";
    return fmt::format(", and there is none like it in {}, in Hugging Face's cache or in the models folder",
                       escaped(places.document_folder.native(), 0));
}

}  // namespace

FoundModel find_model(const ModelReference& reference, const ModelPlaces& places) {
    FoundModel found;
    try {
        std::shared_ptr<const OpenedModel> model = OpenedModel::open(reference.path);
        if (const std::string_view why = difference(reference, *model); !why.empty())
            throw FileError(FileFault::Schema, escaped(reference.path.native(), 0), "", fmt::format("another model is there now: {}", why));
        found.model = std::move(model);
        return found;
    } catch (const FileError& error) {
        found.cause = error;
    }
    std::string others;
    for (const fs::path& path : candidates(reference, places)) {
        std::error_code unknown;
        if (path == reference.path || !fs::exists(path, unknown)) continue;
        try {
            found.model = OpenedModel::open(path);
            const std::string_view why = difference(reference, *found.model);
            if (why.empty()) return found;
            others += fmt::format(", and {} is another model, because {}", escaped(path.native(), 0), why);
        } catch (const FileError& error) {
            if (path == places.chosen) others += fmt::format(", nor can what was chosen ({})", error.what());
        }
    }
    return {nullptr, found.cause, searched(places, others)};
}

}  // namespace attn::app
