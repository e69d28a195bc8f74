#include "app/session/states/opened_model.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/families/model_folder.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/io/ollama_store.hpp"
#include "engine/tokenizer/id_tokenizer.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {
namespace {

std::vector<std::string> texts_of(const ModelTokenizer& tokenizer, std::int64_t count) {
    std::vector<std::string> texts;
    texts.reserve(static_cast<std::size_t>(count));
    for (std::int64_t id = 0; id < count; ++id) texts.push_back(tokenizer.token_bytes(id));
    return texts;
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
    tokenizer_ = reads_ids() ? id_tokenizer(folder_->config.vocab_size) : folder_->tokenizer;
    vocabulary_ = texts_of(*tokenizer_, folder_->config.vocab_size);
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

bool OpenedModel::reads_ids() const { return folder_->tokenizer == nullptr; }

std::int32_t OpenedModel::decoder_start() const { return folder_->decoder_start; }

const std::vector<std::int32_t>& OpenedModel::ends() const { return folder_->ends; }

const std::vector<std::string>& OpenedModel::assumed() const { return folder_->assumed; }

const std::vector<std::string>& OpenedModel::notes() const { return folder_->notes; }

bool OpenedModel::is_end(std::int32_t id) const { return std::binary_search(ends().begin(), ends().end(), id); }

std::shared_ptr<const Parameters<float>> OpenedModel::parameters() const {
    const std::lock_guard lock(mutex_);
    if (parameters_ == nullptr) parameters_ = load_parameters<float>(*folder_);
    return parameters_;
}

void OpenedModel::require_intact() const { folder_->weights->require_intact(); }

}  // namespace attn::app
