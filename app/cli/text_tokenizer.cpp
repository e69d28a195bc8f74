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
#include "engine/tokenizer/model_tokenizer.hpp"
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
    const std::string name = escaped(path.native(), 0);
    if (is_run(folder_of_part(path)))
        throw Error(fmt::format("--model: {0} is a training run, not a published model: use --run {0}", name));
    const std::shared_ptr<const ModelTokenizer> pieces = reads_ids(path) ? nullptr : read_tokenizer(path);
    const std::int64_t ids = pieces == nullptr ? open_model_folder(path).config.vocab_size : pieces->size();
    return {name, std::make_shared<const TextModel>(pieces, ids)};
}

TextTokenizer TextTokenizer::of_run(const std::filesystem::path& path) {
    const Checkpoint checkpoint = read_run_checkpoint(folder_of_part(path));
    const std::string name = escaped(path.native(), 0);
    if (checkpoint.vocabulary.empty()) throw FileError(FileFault::Schema, name, "", "has no vocabulary: it was not trained by attnscope");
    return {name, text_model_of(checkpoint)};
}

TextTokenizer TextTokenizer::of_example(const std::string& name) { return {name, text_model_of(trained_example(name)->checkpoint)}; }

std::shared_ptr<const TextModel> text_model_of(const Checkpoint& checkpoint) {
    if (checkpoint.vocabulary.empty()) return std::make_shared<const TextModel>(nullptr, checkpoint.parameters->config().vocab_size);
    return std::make_shared<const TextModel>(
        Tokenizer::from_vocabulary(checkpoint.tokenizer, checkpoint.vocabulary, checkpoint.special_tokens));
}

}  // namespace attn::app
