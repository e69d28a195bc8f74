#include "app/session/states/shipped_model.hpp"

#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "app/session/states/state.hpp"
#include "assets/embedded.hpp"
#include "engine/io/input_file.hpp"

namespace attn::app {
namespace {

constexpr std::string_view kModelFolder = "models/", kModelExtension = ".safetensors";

std::string asset_of(std::string_view name) { return std::string(kModelFolder) + std::string(name) + std::string(kModelExtension); }

/// Cache of the models read so far.
struct OpenedOnes {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const ShippedModel>, std::less<>> models;
};

}  // namespace

std::vector<std::string> shipped_models() {
    std::vector<std::string> names;
    for (const EmbeddedFile& file : embedded_assets())
        if (file.name.starts_with(kModelFolder) && file.name.ends_with(kModelExtension))
            names.emplace_back(file.name.substr(kModelFolder.size(), file.name.size() - kModelFolder.size() - kModelExtension.size()));
    return names;
}

std::shared_ptr<const ShippedModel> shipped_model(std::string_view name) {
    static OpenedOnes opened;
    const std::lock_guard lock(opened.mutex);
    if (const auto known = opened.models.find(name); known != opened.models.end()) return known->second;
    const EmbeddedFile* file = find_embedded(embedded_assets(), asset_of(name));
    if (file == nullptr) return nullptr;
    MemoryInput source(std::as_bytes(std::span(file->bytes)), file->name);
    auto model = std::make_shared<const ShippedModel>(ShippedModel{std::string(name), read_checkpoint(source)});
    return opened.models.emplace(name, std::move(model)).first->second;
}

void use_shipped(Setup& setup, std::shared_ptr<const ShippedModel> model) {
    const Checkpoint& checkpoint = model->checkpoint;
    setup.tokenizer = checkpoint.tokenizer;
    setup.special_tokens = checkpoint.special_tokens;
    setup.vocabulary = checkpoint.vocabulary;
    setup.vocabulary_texts.clear();
    setup.config = checkpoint.parameters->config();
    setup.forward = checkpoint.settings.train.forward;
    setup.forward.dropout = {};
    setup.model = nullptr;
    setup.shipped = std::move(model);
}

}  // namespace attn::app
