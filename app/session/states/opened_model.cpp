#include "app/session/states/opened_model.hpp"

#include <map>
#include <utility>

#include "engine/families/model_folder.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/io/ollama_store.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {
namespace {

std::unique_ptr<const TextModel> text_in(const ModelFolder& folder) {
    TextConventions conventions;
    conventions.decoder_start = folder.decoder_start;
    conventions.ends = folder.ends;
    conventions.pairs = folder.config.num_segments > 1;
    return std::make_unique<const TextModel>(folder.tokenizer, folder.config.vocab_size, std::move(conventions));
}

}  // namespace

bool OpenedModel::is_in(const std::filesystem::path& path) {
    const std::filesystem::path folder = folder_of_model_file(path);
    return is_gguf_file(path) || is_hub_entry(path) || holds_adapter(path) || (has_config_json(folder) && !is_run(folder));
}

namespace {

/// The place of the model that a path leads to.
std::filesystem::path place_of(const std::filesystem::path& path) {
    return std::filesystem::absolute(model_in_cache(folder_of_model_file(path))).lexically_normal();
}

/// The models that are open, by their place. For the whole process, because the files are.
class OpenModels {
public:
    std::shared_ptr<const OpenedModel> find(const std::filesystem::path& place) {
        std::shared_ptr<const OpenedModel> known;
        {
            const std::lock_guard lock(mutex_);
            if (const auto found = models_.find(key_of(place)); found != models_.end()) known = found->second.lock();
        }
        return known != nullptr && changed_file(*known->identity()).empty() ? known : nullptr;
    }
    void add(const std::shared_ptr<const OpenedModel>& model) {
        const std::lock_guard lock(mutex_);
        std::erase_if(models_, [](const auto& known) { return known.second.expired(); });
        models_[key_of(model->path())] = model;
    }

private:
    /// Without a slash at the end.
    static std::filesystem::path key_of(const std::filesystem::path& place) { return place.has_filename() ? place : place.parent_path(); }

    std::mutex mutex_;
    std::map<std::filesystem::path, std::weak_ptr<const OpenedModel>> models_;
};

OpenModels& open_models() {
    static OpenModels models;
    return models;
}

}  // namespace

std::shared_ptr<const OpenedModel> OpenedModel::open(const std::filesystem::path& path) {
    if (std::shared_ptr<const OpenedModel> known = open_models().find(place_of(path))) return known;
    std::shared_ptr<const OpenedModel> model(new OpenedModel(path));
    open_models().add(model);
    return model;
}

OpenedModel::OpenedModel(const std::filesystem::path& path) : path_(place_of(path)) {
    std::vector<FileMark> files = marks_of_small_files(path_);
    folder_ = std::make_unique<const ModelFolder>(open_model_folder(path));
    if (files != marks_of_small_files(path_))
        throw FileError(FileFault::Io, escaped(path_.native(), 0), "", "was changed while it was being opened");
    text_ = text_in(*folder_);
    if (std::string name = ollama_name(path_); !name.empty()) name_ = std::move(name);
    for (FileMark& mark : folder_->weights->marks()) files.push_back(std::move(mark));
    identity_ = std::make_shared<const ModelIdentity>(ModelIdentity{path_, name_, mark_of_tensors(*folder_), std::move(files)});
}

OpenedModel::~OpenedModel() = default;

std::string model_name(const std::filesystem::path& path) {
    if (std::string name = hub_name(path); !name.empty()) return name;
    return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

std::string_view OpenedModel::family() const { return folder_->family->name; }

const Config& OpenedModel::config() const { return folder_->config; }

const std::vector<std::string>& OpenedModel::assumed() const { return folder_->assumed; }

const std::vector<std::string>& OpenedModel::notes() const { return folder_->notes; }

std::shared_ptr<const Parameters<float>> OpenedModel::parameters() const {
    const std::lock_guard lock(mutex_);
    if (parameters_ == nullptr) parameters_ = load_parameters<float>(*folder_);
    return parameters_;
}

void OpenedModel::require_intact() const { folder_->weights->require_intact(); }

}  // namespace attn::app
