#pragma once
/// The tokenizer that a command line names: of a published model, of a training run, or of a trained example.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/model_tokenizer.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/checkpoint.hpp"

namespace attn::app {

class TextTokenizer {
public:
    /// Of a folder or file of a published model. Throws FileError.
    static TextTokenizer of_model(const std::filesystem::path& path);
    /// Of a training run: its folder, or a checkpoint. Throws FileError, also for a checkpoint without a vocabulary.
    static TextTokenizer of_run(const std::filesystem::path& path);
    /// Of a trained example. Throws Error for any other name.
    static TextTokenizer of_example(const std::string& name);

    /// For messages and tables: a path or the name of an example.
    const std::string& name() const { return name_; }
    /// Assumptions that had to be made, one sentence each.
    std::vector<std::string> notes() const;
    /// As ModelTokenizer::encode(). The tokenizers of our own models have no template.
    Encoding encode(std::string_view text, bool special) const;
    Encoding encode(std::string_view text, bool special, std::vector<std::string>& texts) const;
    /// As ModelTokenizer::encode_pair(). Throws Error for characters, words and bytes.
    Encoding encode_pair(std::string_view first, std::string_view second, bool special, std::vector<std::string>& texts) const;
    /// A token as its vocabulary spells it; "" for an unused id.
    std::string token_text(std::int32_t id) const;
    /// The bytes it stands for.
    std::string token_bytes(std::int32_t id) const;
    /// The tokenizer of pieces, whose steps can be shown. Throws Error for characters, words and bytes.
    const ModelTokenizer& pieces() const;

private:
    static TextTokenizer of_checkpoint(const Checkpoint& checkpoint, std::string name);

    std::string name_;
    std::shared_ptr<const ModelTokenizer> pieces_;  ///< null for characters, words and bytes
    std::optional<Tokenizer> own_;                  ///< otherwise none
};

}  // namespace attn::app
