#pragma once
/// What a published model is known by while it is not open.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/io/file_mark.hpp"

namespace attn {
struct ModelFolder;
}

namespace attn::app {

class OpenedModel;

struct ModelIdentity {
    std::filesystem::path path;
    std::string name;             ///< see OpenedModel::name()
    std::string tensors;          ///< differs between models whose tensors have different names
    std::vector<FileMark> files;  ///< everything that it was read from: small files by name, then the weights
    bool operator==(const ModelIdentity&) const = default;
};

/// Settings and tokenizer files in the model's folder, by name; none for a file that is a model.
std::vector<FileMark> marks_of_small_files(const std::filesystem::path& folder);
/// See ModelIdentity::tensors.
std::string mark_of_tensors(const ModelFolder& model);
/// The first file that was changed, replaced, removed or added since the model was opened; "" if there is none.
std::filesystem::path changed_file(const ModelIdentity& model);

/// A state's model. References are equal if they are of the same files, whether the model is held open or not: a step that was left keeps
/// only its identity, from which the model can be opened again.
class ModelRef {
public:
    ModelRef(std::nullptr_t = nullptr) {}
    ModelRef(std::shared_ptr<const OpenedModel> model);

    /// Throws Error if the model is not held.
    const OpenedModel& operator*() const;
    const OpenedModel* operator->() const { return &**this; }
    /// Null if there is none, or it is not held.
    const OpenedModel* get() const { return held_.get(); }
    operator const std::shared_ptr<const OpenedModel>&() const { return held_; }
    const std::shared_ptr<const OpenedModel>& shared() const { return held_; }

    /// Null if there is no model.
    const std::shared_ptr<const ModelIdentity>& identity() const { return identity_; }
    explicit operator bool() const { return identity_ != nullptr; }
    bool held() const { return held_ != nullptr; }
    /// See OpenedModel::require_intact(); without a model there is no file that could change.
    void require_intact() const;
    ModelRef released() const;
    /// Held again if the model happens to be open; otherwise as it is.
    ModelRef held_if_open() const;

    friend bool operator==(const ModelRef& a, const ModelRef& b) {
        return a.identity_ == b.identity_ || (a.identity_ != nullptr && b.identity_ != nullptr && *a.identity_ == *b.identity_);
    }
    friend bool operator==(const ModelRef& a, std::nullptr_t) { return a.identity_ == nullptr; }

private:
    std::shared_ptr<const ModelIdentity> identity_;
    std::shared_ptr<const OpenedModel> held_;
    std::weak_ptr<const OpenedModel> known_;
};

}  // namespace attn::app
