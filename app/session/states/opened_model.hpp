#pragma once
/// A published model opened from a folder or a GGUF file, shared by all states that use it.

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/session/states/model_identity.hpp"
#include "app/session/states/text_model.hpp"
#include "engine/plan/config.hpp"

namespace attn {
struct ModelFolder;
template <class Scalar>
class Parameters;
}  // namespace attn

namespace attn::app {

/// The display name of a model's folder or file: "ORG/NAME" in Hugging Face's cache, otherwise the file name.
std::string model_name(const std::filesystem::path& path);

class OpenedModel {
public:
    /// Whether `path` is a GGUF file, a folder in Hugging Face's cache, or a folder with a config.json that is not a training run of ours:
    /// whatever else is wrong with such a folder, it is meant as a published model.
    static bool is_in(const std::filesystem::path& path);
    /// Reads everything except the weights. While a model is open and none of its files changes, opening it again gives the same object.
    /// Throws FileError as open_model_folder() does.
    static std::shared_ptr<const OpenedModel> open(const std::filesystem::path& path);
    ~OpenedModel();

    const std::shared_ptr<const ModelIdentity>& identity() const { return identity_; }
    const std::filesystem::path& path() const { return path_; }
    /// The display name: what Ollama calls it if it is in its store, otherwise see model_name().
    const std::string& name() const { return name_; }
    /// The family's display name, such as "GPT-2".
    std::string_view family() const;
    const Config& config() const;
    const TextModel& text() const { return *text_; }
    /// Settings missing in the file and filled in from published models of the same family.
    const std::vector<std::string>& assumed() const;
    /// Oddities that do no harm, one sentence each.
    const std::vector<std::string>& notes() const;
    /// Loaded on first use; weights stay memory-mapped where their format allows. Throws FileError.
    std::shared_ptr<const Parameters<float>> parameters() const;
    /// The opened folder: family, tensors, weights.
    const ModelFolder& folder() const { return *folder_; }
    /// Throws FileError if the files have changed since they were opened; anything computed from them since is then invalid.
    void require_intact() const;

private:
    explicit OpenedModel(const std::filesystem::path& path);

    std::filesystem::path path_;
    std::string name_ = model_name(path_);
    std::unique_ptr<const ModelFolder> folder_;
    std::unique_ptr<const TextModel> text_;
    std::shared_ptr<const ModelIdentity> identity_;
    mutable std::mutex mutex_;  // guards parameters_
    mutable std::shared_ptr<const Parameters<float>> parameters_;
};

}  // namespace attn::app
