#pragma once
/// Finds the published model of a document that was moved, or that is opened on another machine.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/session/states/opened_model.hpp"
#include "engine/io/file_error.hpp"

namespace attn::app {

/// What a document says of its model.
struct ModelReference {
    std::filesystem::path path;    ///< where it was
    std::filesystem::path beside;  ///< the same from the document's folder; empty unless it was below that
    std::optional<Config> config;  ///< none: not known
    std::string tensors;           ///< see ModelIdentity; "": not known
};

/// Where else to look for it.
struct ModelPlaces {
    std::filesystem::path document_folder;       ///< empty: none
    std::vector<std::filesystem::path> shelves;  ///< folders that hold models: caches, and the user's models folder
    std::filesystem::path chosen;                ///< the model that the user has chosen; empty: none
    std::filesystem::path chosen_for;            ///< where the model was in whose stead it was chosen
    std::vector<std::string>* moved = nullptr;   ///< receives a sentence for each model that is found elsewhere
};

/// The model of a document cannot be opened, and is nowhere else.
class ModelIsMissing : public FileError {
public:
    ModelIsMissing(const FileError& refusal, std::filesystem::path model, std::string cause)
        : FileError(refusal), model_(std::move(model)), cause_(std::move(cause)) {}
    /// Where it was.
    const std::filesystem::path& model() const { return model_; }
    const std::string& cause() const { return cause_; }

private:
    std::filesystem::path model_;
    std::string cause_;
};

struct FoundModel {
    std::shared_ptr<const OpenedModel> model;  ///< null: none was found
    std::optional<FileError> cause{};          ///< why it cannot be opened where it was
    std::string searched{};                    ///< where else it was looked for, to be put after that; "" for nowhere
};

/// Opens the model where it was, or else the first one elsewhere that has the same sizes and tensors.
FoundModel find_model(const ModelReference& reference, const ModelPlaces& places);

}  // namespace attn::app
