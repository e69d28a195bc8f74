#include "engine/io/ollama_store.hpp"

#include <algorithm>
#include <system_error>

#include "engine/io/file_error.hpp"
#include "engine/io/folder.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostManifest = std::uint64_t{1} << 20;
constexpr std::size_t kMostManifests = 2000;
constexpr std::string_view kWeights = "application/vnd.ollama.image.model", kDigest = "sha256:", kBlob = "sha256-";

const std::string* text_of(const Json& object, const char* key) {
    const Json* const found = object.is_object() ? object.find(key) : nullptr;
    return found != nullptr && found->is_string() ? &found->text() : nullptr;
}

/// The name of the blob with the weights; "" if the manifest names none.
std::string weights_blob(const fs::path& manifest) {
    const std::string source = escaped(manifest.native(), 0);
    const Json json = Json::parse(read_whole_file(manifest, {.max_bytes = kMostManifest, .stop = {}}), source);
    const Json* const layers = json.is_object() ? json.find("layers") : nullptr;
    if (layers == nullptr || !layers->is_list()) return "";
    for (const Json& layer : layers->items()) {
        const std::string *const type = text_of(layer, "mediaType"), *const digest = text_of(layer, "digest");
        if (type == nullptr || *type != kWeights || digest == nullptr || !digest->starts_with(kDigest)) continue;
        const std::string hex = digest->substr(kDigest.size());
        const bool plain = !hex.empty() && hex.find_first_not_of("0123456789abcdef") == std::string::npos;
        return plain ? std::string(kBlob) + hex : "";
    }
    return "";
}

/// Calls use(path relative to the manifests) for every file exactly four levels deep, in order.
template <class Use>
void for_manifests(const fs::path& folder, const fs::path& before, int levels, std::size_t& left, const Use& use) {
    std::error_code unknown;
    std::vector<std::string> names = names_in_folder(folder / before, unknown);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
        if (name.front() == '.' || left == 0) continue;
        const fs::path path = before / name;
        if (levels > 1) for_manifests(folder, path, levels - 1, left, use);
        else if (fs::is_regular_file(folder / path, unknown)) --left, use(path);
    }
}

/// "registry.ollama.ai/library/llama3.2/1b" -> "llama3.2:1b"
std::string shown_name(const fs::path& manifest) {
    constexpr std::string_view kUsual = "registry.ollama.ai/", kLibrary = "library/";
    std::string name = manifest.parent_path().string();
    if (name.starts_with(kUsual)) name.erase(0, kUsual.size());
    if (name.starts_with(kLibrary)) name.erase(0, kLibrary.size());
    return name + ":" + manifest.filename().string();
}

}  // namespace

std::vector<OllamaModel> ollama_models(const fs::path& store) {
    std::vector<OllamaModel> models;
    std::size_t left = kMostManifests;
    for_manifests(store / "manifests", "", 4, left, [&](const fs::path& manifest) {
        try {
            if (const std::string blob = weights_blob(store / "manifests" / manifest); !blob.empty())
                models.push_back({shown_name(manifest), store / "blobs" / blob});
        } catch (const FileError&) {
            // Not ours, so errors are not reported.
        }
    });
    return models;
}

fs::path ollama_store_of(const fs::path& file) {
    std::error_code unknown;
    const fs::path whole = fs::absolute(file, unknown).lexically_normal(), folder = whole.parent_path();
    const bool is_blob = whole.filename().string().starts_with(kBlob) && folder.filename() == "blobs";
    return is_blob && fs::is_directory(folder.parent_path() / "manifests", unknown) ? folder.parent_path() : fs::path();
}

std::string ollama_name(const fs::path& file) {
    const fs::path store = ollama_store_of(file);
    if (store.empty()) return "";
    for (const OllamaModel& model : ollama_models(store))
        if (model.file.filename() == file.filename()) return model.name;
    return "";
}

}  // namespace attn
