#include "app/session/states/model_identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/session/states/opened_model.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/folder.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

/// Whether a model may be read from a file of this name, apart from its weights. Documents of ours may lie beside it.
bool may_be_of_model(std::string_view name) {
    return !name.ends_with(".attnscope.json") &&
           (name.ends_with(".json") || name.ends_with(".txt") || name.ends_with(".model") || name.ends_with(".jinja"));
}

}  // namespace

std::vector<FileMark> marks_of_small_files(const std::filesystem::path& folder) {
    std::error_code is_file;
    std::vector<std::string> names = names_in_folder(folder, is_file);
    std::erase_if(names, [](const std::string& name) { return !may_be_of_model(name); });
    std::sort(names.begin(), names.end());
    std::vector<FileMark> marks;
    for (const std::string& name : names) marks.push_back(mark_of_file(folder / name));
    return marks;
}

std::string mark_of_tensors(const ModelFolder& model) {
    std::vector<std::string_view> names;
    for (const WeightFiles::Tensor& tensor : model.weights->tensors()) names.push_back(tensor.array.name);
    std::sort(names.begin(), names.end());
    std::uint64_t mark = 0xCBF29CE484222325U;  // 64-bit FNV-1a
    const auto add = [&](char letter) { mark = (mark ^ static_cast<unsigned char>(letter)) * 0x100000001B3U; };
    for (const std::string_view name : names) {
        std::for_each(name.begin(), name.end(), add);
        add('\n');
    }
    return fmt::format("{:016x}", mark);
}

std::filesystem::path changed_file(const ModelIdentity& model) {
    const std::vector<FileMark> small = marks_of_small_files(model.path);
    for (const FileMark& mark : model.files)
        if (mark_of_file(mark.path) != mark) return mark.path;
    for (const FileMark& mark : small)
        if (std::find(model.files.begin(), model.files.end(), mark) == model.files.end()) return mark.path;
    return {};
}

ModelRef::ModelRef(std::shared_ptr<const OpenedModel> model)
    : identity_(model == nullptr ? nullptr : model->identity()), held_(std::move(model)), known_(held_) {}

const OpenedModel& ModelRef::operator*() const {
    if (held_ == nullptr) throw Error("this model is not open");
    return *held_;
}

void ModelRef::require_intact() const {
    if (identity_ != nullptr) (**this).require_intact();
}

ModelRef ModelRef::released() const {
    ModelRef ref = *this;
    ref.held_ = nullptr;
    return ref;
}

ModelRef ModelRef::held_if_open() const {
    ModelRef ref = *this;
    if (ref.held_ == nullptr) ref.held_ = known_.lock();
    return ref;
}

}  // namespace attn::app
