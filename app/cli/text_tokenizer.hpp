#pragma once
/// The tokenizer that a command line names: of a published model, of a training run, or of a trained example.

#include <filesystem>
#include <memory>
#include <string>

#include "app/session/states/text_model.hpp"
#include "engine/train/checkpoint.hpp"

namespace attn::app {

struct TextTokenizer {
    std::string name;  ///< for messages and tables: a path or the name of an example
    std::shared_ptr<const TextModel> text;

    /// Of a folder or file of a published model. Throws FileError.
    static TextTokenizer of_model(const std::filesystem::path& path);
    /// Of a training run: its folder, or a checkpoint. Throws FileError, also for a checkpoint without a vocabulary.
    static TextTokenizer of_run(const std::filesystem::path& path);
    /// Of a trained example. Throws Error for any other name.
    static TextTokenizer of_example(const std::string& name);
};

/// How one speaks to a model in a file of ours; in ids if the file has no vocabulary.
std::shared_ptr<const TextModel> text_model_of(const Checkpoint& checkpoint);

}  // namespace attn::app
