#include "app/cli/text_tokenizer.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/cli/trained_example.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/states/opened_model.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/gguf.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/gguf_tokenizer.hpp"
#include "engine/tokenizer/id_tokenizer.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {

namespace {

/// A published model that comes without a tokenizer, and so reads ids.
bool reads_ids(const std::filesystem::path& path) {
    if (!OpenedModel::is_in(path)) return false;
    const std::filesystem::path model = model_in_cache(folder_of_model_file(path));
    return is_gguf_file(model) ? !has_gguf_tokenizer(GgufFile::read(model)) : !holds_adapter(model) && !has_tokenizer(model);
}

}  // namespace

TextTokenizer TextTokenizer::of_model(const std::filesystem::path& path) {
    TextTokenizer out;
    out.name_ = escaped(path.native(), 0);
    if (is_run(folder_of_part(path)))
        throw Error(fmt::format("--model: {0} is a training run, not a published model: use --run {0}", out.name_));
    out.pieces_ = reads_ids(path) ? id_tokenizer(open_model_folder(path).config.vocab_size) : read_tokenizer(path);
    return out;
}

TextTokenizer TextTokenizer::of_run(const std::filesystem::path& path) {
    const Checkpoint checkpoint = read_run_checkpoint(folder_of_part(path));
    std::string name = escaped(path.native(), 0);
    if (checkpoint.vocabulary.empty()) throw FileError(FileFault::Schema, name, "", "has no vocabulary: it was not trained by attnscope");
    return of_checkpoint(checkpoint, std::move(name));
}

TextTokenizer TextTokenizer::of_example(const std::string& name) { return of_checkpoint(trained_example(name)->checkpoint, name); }

TextTokenizer TextTokenizer::of_checkpoint(const Checkpoint& checkpoint, std::string name) {
    TextTokenizer out;
    out.name_ = std::move(name);
    Tokenizer tokenizer = Tokenizer::from_vocabulary(checkpoint.tokenizer, checkpoint.vocabulary, checkpoint.special_tokens);
    if (tokenizer.pieces() != nullptr) out.pieces_ = tokenizer.pieces();
    else out.own_ = std::move(tokenizer);
    return out;
}

std::vector<std::string> TextTokenizer::notes() const { return pieces_ != nullptr ? pieces_->notes() : std::vector<std::string>(); }

Encoding TextTokenizer::encode(std::string_view text, bool special) const {
    if (pieces_ != nullptr) return pieces_->encode(text, special);
    Encoding encoding;
    try {
        for (const TextToken& token : own_->encode(text))
            encoding.push_back(
                {.id = token.id, .begin = static_cast<std::uint32_t>(token.begin), .end = static_cast<std::uint32_t>(token.end)});
    } catch (const ConfigError& error) {
        throw ConfigError(name_ + ": " + error.what());
    }
    return encoding;
}

Encoding TextTokenizer::encode(std::string_view text, bool special, std::vector<std::string>& texts) const {
    if (pieces_ != nullptr) return pieces_->encode(text, special, texts);
    Encoding encoding = encode(text, special);
    texts.clear();
    for (const EncodedToken& token : encoding) texts.push_back(token_text(token.id));
    return encoding;
}

Encoding TextTokenizer::encode_pair(std::string_view first, std::string_view second, bool special, std::vector<std::string>& texts) const {
    if (pieces_ == nullptr) throw Error(fmt::format("{}: its tokens are {}s, which have no pairs", name_, tokenizer_name(own_->kind())));
    return pieces_->encode_pair(first, second, special, texts);
}

std::string TextTokenizer::token_text(std::int32_t id) const {
    return pieces_ != nullptr ? pieces_->token_text(id).value_or("") : own_->vocabulary().at(static_cast<std::size_t>(id));
}

std::string TextTokenizer::token_bytes(std::int32_t id) const { return pieces_ != nullptr ? pieces_->token_bytes(id) : token_text(id); }

const ModelTokenizer& TextTokenizer::pieces() const {
    if (pieces_ == nullptr)
        throw Error(fmt::format("{}: its tokens are {}s, found in one step: there is nothing for --steps to show", name_,
                                tokenizer_name(own_->kind())));
    return *pieces_;
}

}  // namespace attn::app
