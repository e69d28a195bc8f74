#include "engine/tokenizer/token_model.hpp"

#include <fmt/format.h>

#include <array>

#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/bpe.hpp"
#include "engine/tokenizer/component_json.hpp"
#include "engine/tokenizer/unigram.hpp"
#include "engine/tokenizer/word_models.hpp"

namespace attn {
namespace {

/// In files without it, the only model whose vocabulary is a list is Unigram.
std::string model_type(JsonObject& json) {
    static const std::array<ImpliedType, 3> kByFields = {
        {{"BPE", {"vocab", "merges"}},
         {"WordPiece", {"vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"}},
         {"WordLevel", {"vocab", "unk_token"}}}};
    static const std::array<ImpliedType, 1> kUnigram = {{{"Unigram", {"vocab"}}}};
    const Json* const vocabulary = json.value("vocab");
    if (vocabulary != nullptr && vocabulary->is_list()) return component_type(json, kUnigram);
    return component_type(json, kByFields);
}

std::unique_ptr<TokenModel> read_typed(JsonObject& json) {
    const std::string type = model_type(json);
    if (type == "BPE") return read_bpe(json);
    if (type == "Unigram") return read_unigram(json);
    if (type == "WordPiece") return read_word_piece(json);
    if (type == "WordLevel") return read_word_level(json);
    refuse_type(json, "model", type);
}

}  // namespace

void TokenModel::refuse_unknown(std::string_view text) {
    throw ConfigError(fmt::format("\"{}\" is not in the vocabulary, which has no unknown token", escaped(text)));
}

std::unique_ptr<TokenModel> read_token_model(JsonObject component) {
    std::unique_ptr<TokenModel> model = read_typed(component);
    component.expect_no_more();
    return model;
}

}  // namespace attn
