#include "app/session/files/model_listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>

#include "app/session/files/settings.hpp"
#include "engine/families/family.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/folder.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"
#include "engine/io/ollama_store.hpp"
#include "engine/io/safetensors_header.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostModels = 500, kMostLookedAt = 5000;

fs::path from_variable(const char* name) {
    const char* value = std::getenv(name);
    fs::path path = value == nullptr ? "" : value;
    return path.is_absolute() ? path : fs::path();
}

fs::path in_folder_of(const fs::path& base, const char* rest) { return base.empty() ? base : base / rest; }

fs::path folder_of_caches() {
    const fs::path xdg = from_variable("XDG_CACHE_HOME");
    return xdg.empty() ? in_folder_of(from_variable("HOME"), ".cache") : xdg;
}

bool is_gguf(const fs::path& path) {
    std::error_code unknown;
    return path.extension() == ".gguf" && fs::is_regular_file(path, unknown);
}

/// The size of a model's weights, or of a single file.
std::uint64_t bytes_of(const fs::path& path) {
    std::error_code unknown;
    if (!fs::is_directory(path, unknown)) {
        const std::uintmax_t bytes = fs::file_size(path, unknown);
        return unknown ? 0 : bytes;
    }
    std::uint64_t bytes = 0;
    for (const std::string& name : names_in_folder(path, unknown)) {
        std::error_code missing;
        const std::uintmax_t size = name.ends_with(".safetensors") ? fs::file_size(path / name, missing) : 0;
        if (!missing) bytes += size;
    }
    return bytes;
}

/// Whether a folder has the layout of transformers. Its contents are only checked when it is opened.
bool looks_like_model(const fs::path& folder) {
    std::error_code unknown;
    return fs::is_regular_file(folder / "config.json", unknown) &&
           (fs::exists(folder / "model.safetensors", unknown) || fs::exists(folder / "model.safetensors.index.json", unknown));
}

/// Whether all files that hold its weights are there, and as long as they say; damaged otherwise, they count as complete.
bool is_complete(const fs::path& folder) {
    constexpr const char* kIndex = "model.safetensors.index.json";
    std::set<std::string> files;
    std::error_code unknown;
    if (!fs::exists(folder / kIndex, unknown)) {
        files.insert("model.safetensors");
    } else {
        const Json index = Json::parse(read_whole_file(folder / kIndex, {.max_bytes = kMaxJsonBytes, .stop = {}}), kIndex);
        const Json* map = index.is_object() ? index.find("weight_map") : nullptr;
        if (map != nullptr && map->is_object())
            for (const auto& [tensor, file] : map->members())
                if (file.is_string()) files.insert(file.text());
    }
    return std::all_of(files.begin(), files.end(), [&](const std::string& name) {
        try {
            InputFile input(folder / name, {.stop = {}});
            read_safetensors_header(input);
            return true;
        } catch (const FileError& error) {
            return error.fault() != FileFault::Truncated && error.fault() != FileFault::Io;
        }
    });
}

/// Why a folder with the layout of transformers cannot be opened, as far as its config.json and the names of its files tell; "" if nothing
/// speaks against it.
std::string problem_of(const fs::path& folder) {
    constexpr std::size_t kMostTypeLetters = 16;
    if (holds_adapter(folder)) return "an adapter, not a model";
    if (!looks_like_model(folder)) return "it has no .safetensors weights";
    try {
        const std::string source = escaped((folder / "config.json").native(), 0);
        const Json config = Json::parse(read_whole_file(folder / "config.json", {.max_bytes = kMaxJsonBytes, .stop = {}}), source);
        if (!config.is_object()) return "its config.json is not a JSON object";
        const Json* type = config.find("model_type");
        const std::string name = type != nullptr && type->is_string() ? type->text() : "";
        if (name.empty()) return "its config.json does not name a model type";
        if (find_family(name) == nullptr) return fmt::format("models of type {} are not supported", escaped(name, kMostTypeLetters));
        if (const Json* packed = config.find("quantization_config"); packed != nullptr && packed->is_object())
            return "its weights are quantized for PyTorch";
    } catch (const FileError& error) {
        return error.what();
    }
    return is_complete(folder) ? "" : "its download is incomplete";
}

/// The path below the models folder, or else the last part of it.
std::string name_in(const fs::path& folder, const fs::path& path) {
    const fs::path whole = path.has_filename() ? path : path.parent_path(), below = whole.lexically_relative(folder);
    return (below.empty() || *below.begin() == ".." ? whole.filename() : below).string();
}

class Lister {
public:
    explicit Lister(ModelShelf& shelf) : shelf_(shelf) {}

    void add(ModelShelf::Model model) {
        std::error_code unknown;
        const fs::path whole = fs::absolute(model.path, unknown).lexically_normal();
        if (shelf_.models.size() < kMostModels && seen_.insert(whole.string()).second) shelf_.models.push_back(std::move(model));
    }

    void add_store(const fs::path& store) {
        for (const OllamaModel& model : ollama_models(store)) {
            std::error_code unknown;
            const bool there = fs::exists(model.file, unknown);
            add({model.name, model.file, ModelShelf::Place::Cache, bytes_of(model.file), there ? "" : "its file is missing"});
        }
    }

    /// Adds the models in a folder and in its direct subfolders.
    void add_all(const fs::path& folder, ModelShelf::Place place, std::error_code& error) { add_level(folder, "", place, 2, error); }

    /// One that lies in the models folder, which may be empty, keeps the name it has there.
    void add_recent(const std::string& path, const fs::path& folder) {
        ModelShelf::Model model{hub_name(path), path, ModelShelf::Place::Recent, 0, ""};
        if (model.name.empty()) model.name = ollama_name(path);
        if (model.name.empty()) model.name = name_in(folder, model.path);
        std::error_code unknown;
        if (!fs::exists(path, unknown)) model.problem = "it no longer exists";
        else examine(model);
        add(std::move(model));
    }

private:
    /// Sets the size of its weights, in the cache those of its snapshot, and what is wrong with it.
    static void examine(ModelShelf::Model& model) {
        try {
            const fs::path path = model_in_cache(model.path);
            std::error_code unknown;
            model.bytes = bytes_of(path);
            if (fs::is_directory(path, unknown)) model.problem = problem_of(path);
        } catch (const FileError& error) {
            model.problem = error.what();
        }
    }

    void add_level(const fs::path& folder, const std::string& before, ModelShelf::Place place, int levels, std::error_code& error) {
        std::vector<std::string> names = names_in_folder(folder, error);
        if (error) return;
        std::sort(names.begin(), names.end());
        for (const std::string& name : names) {
            if (name.front() == '.' || ++looked_at_ > kMostLookedAt) continue;
            const fs::path path = folder / name;
            std::error_code unknown;
            if (name.starts_with("models--") && is_hub_entry(path)) add_entry(path, place);
            else if (is_gguf(path) || looks_like_model(path)) add_found({before + name, path, place, 0, ""});
            else if (levels > 1 && fs::is_directory(path, unknown)) add_level(path, before + name + "/", place, levels - 1, unknown);
        }
    }

    /// Adds a model in the cache; if it has several GGUF files, each of them.
    void add_entry(const fs::path& entry, ModelShelf::Place place) {
        ModelShelf::Model model{hub_name(entry), entry, place, 0, ""};
        std::error_code unknown;
        std::vector<fs::path> files;
        for (const std::string& snapshot : names_in_folder(entry / "snapshots", unknown))
            for (const std::string& name : names_in_folder(entry / "snapshots" / snapshot, unknown))
                if (is_gguf(entry / "snapshots" / snapshot / name)) files.push_back(entry / "snapshots" / snapshot / name);
        if (files.size() > 1) {
            std::sort(files.begin(), files.end());
            for (const fs::path& file : files) add({model.name + "/" + file.filename().string(), file, place, bytes_of(file), ""});
            return;
        }
        add_found(std::move(model));
    }
    void add_found(ModelShelf::Model model) {
        examine(model);
        add(std::move(model));
    }

    ModelShelf& shelf_;
    std::set<std::string> seen_;
    std::size_t looked_at_ = 0;
};

}  // namespace

fs::path hub_cache() {
    for (const fs::path& folder : {from_variable("HF_HUB_CACHE"), in_folder_of(from_variable("HF_HOME"), "hub")})
        if (!folder.empty()) return folder;
    return in_folder_of(folder_of_caches(), "huggingface/hub");
}

std::vector<fs::path> model_caches() {
    const fs::path home = from_variable("HOME"), cache = folder_of_caches();
    std::vector<fs::path> found;
    for (const fs::path& folder :
         {from_variable("HF_HUB_CACHE"), in_folder_of(from_variable("HF_HOME"), "hub"), in_folder_of(cache, "huggingface/hub"),
          from_variable("LLAMA_CACHE"), in_folder_of(cache, "llama.cpp"), from_variable("OLLAMA_MODELS"),
          in_folder_of(home, ".ollama/models"), fs::path("/usr/share/ollama/.ollama/models")}) {
        std::error_code unknown;
        if (!folder.empty() && fs::is_directory(folder, unknown) && std::find(found.begin(), found.end(), folder) == found.end())
            found.push_back(folder);
    }
    return found;
}

ModelPlaces model_places() {
    ModelPlaces places;
    places.shelves = model_caches();
    if (fs::path folder = models_folder(settings_path()); !folder.empty()) places.shelves.push_back(std::move(folder));
    return places;
}

ModelShelf list_models(const fs::path& folder, const std::vector<std::string>& recent, const std::vector<fs::path>& caches) {
    ModelShelf shelf;
    shelf.folder = folder;
    shelf.hub = hub_cache();
    Lister lister(shelf);
    for (const std::string& path : recent) lister.add_recent(path, folder);
    std::error_code error;
    if (!folder.empty()) lister.add_all(folder, ModelShelf::Place::Folder, error);
    if (error) shelf.folder_problem = error.message();
    for (const fs::path& cache : caches) {
        std::error_code unreadable;  // not ours, so errors are not reported
        if (fs::is_directory(cache / "manifests", unreadable)) lister.add_store(cache);
        else lister.add_all(cache, ModelShelf::Place::Cache, unreadable);
    }
    return shelf;
}

bool is_in_store(const std::filesystem::path& path) { return !hub_name(path).empty() || !ollama_store_of(path).empty(); }

}  // namespace attn::app
