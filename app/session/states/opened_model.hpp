#pragma once
/// A published model that was opened from a folder or a GGUF file, shared by all states that are about it.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/session/states/shared_words.hpp"
#include "engine/plan/config.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {
struct ModelFolder;
template <class Scalar>
class Parameters;
}  // namespace attn

namespace attn::app {

class OpenedModel {
public:
    /// Whether this is a GGUF file, a folder of Hugging Face's cache, or a folder that holds a published model with its tokenizer. A
    /// training run of ours has a config.json too, but no tokenizer.
    static bool is_in(const std::filesystem::path& path);
    /// Reads all but the weights. Throws FileError as open_model_folder() does, and Unsupported for a model without a tokenizer.
    static std::shared_ptr<const OpenedModel> open(const std::filesystem::path& path);
    ~OpenedModel();

    const std::filesystem::path& path() const { return path_; }
    /// What the person knows it by: "ORG/NAME" out of Hugging Face's cache, else the name of the folder or the file.
    std::string name() const;
    /// "GPT-2".
    std::string_view family() const;
    const Config& config() const;
    const ModelTokenizer& tokenizer() const;
    /// Of an encoder-decoder: the token that every text of the decoder begins with.
    std::int32_t decoder_start() const;
    /// The tokens with which the model ends what it writes.
    const std::vector<std::int32_t>& ends() const;
    bool is_end(std::int32_t id) const;
    /// What its file leaves out, taken from published models of its kind.
    const std::vector<std::string>& assumed() const;
    /// What is odd but does no harm, one sentence each.
    const std::vector<std::string>& notes() const;
    /// The text of every id, as bytes: " the", or a part of a character.
    const SharedWords& vocabulary() const { return vocabulary_; }
    /// Mapped, as far as they can stay as the file has them, when they are first asked for. Throws FileError.
    std::shared_ptr<const Parameters<float>> parameters() const;
    /// As it was opened: family, tensors, weights.
    const ModelFolder& folder() const { return *folder_; }
    /// Throws FileError when the files are no longer what they were: what was computed with them since is worth nothing.
    void require_intact() const;

private:
    explicit OpenedModel(const std::filesystem::path& path);

    std::filesystem::path path_;
    std::unique_ptr<const ModelFolder> folder_;
    SharedWords vocabulary_;
    mutable std::mutex mutex_;  // guards the one below while it is read
    mutable std::shared_ptr<const Parameters<float>> parameters_;
};

}  // namespace attn::app
