#include "engine/tokenizer/token_model.hpp"

#include "engine/tokenizer/bpe.hpp"
#include "engine/tokenizer/component_json.hpp"
#include "engine/tokenizer/unigram.hpp"
#include "engine/tokenizer/word_models.hpp"

namespace attn {
namespace {

std::unique_ptr<TokenModel> read_typed(JsonObject& json) {
    const std::string type = required_text(json, "type");
    if (type == "BPE") return read_bpe(json);
    if (type == "Unigram") return read_unigram(json);
    if (type == "WordPiece") return read_word_piece(json);
    if (type == "WordLevel") return read_word_level(json);
    refuse_type(json, "model", type);
}

}  // namespace

std::unique_ptr<TokenModel> read_token_model(JsonObject component) {
    std::unique_ptr<TokenModel> model = read_typed(component);
    component.expect_no_more();
    return model;
}

}  // namespace attn
