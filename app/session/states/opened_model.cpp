#include "app/session/states/opened_model.hpp"

#include <algorithm>
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

std::shared_ptr<const OpenedModel> OpenedModel::open(const std::filesystem::path& path) {
    return std::shared_ptr<const OpenedModel>(new OpenedModel(path));
}

OpenedModel::OpenedModel(const std::filesystem::path& path)
    : path_(std::filesystem::absolute(model_in_cache(folder_of_model_file(path))).lexically_normal()),
      folder_(std::make_unique<const ModelFolder>(open_model_folder(path))) {
    tokenizer_ = reads_ids() ? id_tokenizer(folder_->config.vocab_size) : folder_->tokenizer;
    vocabulary_ = texts_of(*tokenizer_, folder_->config.vocab_size);
    if (std::string name = ollama_name(path_); !name.empty()) name_ = std::move(name);
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
