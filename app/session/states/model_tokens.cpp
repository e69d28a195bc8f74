#include "app/session/states/model_tokens.hpp"

#include <fmt/format.h>

#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

std::vector<TextToken> tokens_for(const OpenedModel& model, const std::string& text, Reader reader) {
    std::vector<TextToken> tokens;
    if (reader == Reader::Decoder) tokens.push_back({model.decoder_start(), false, false, 0, 0});
    for (const EncodedToken& token : model.tokenizer().encode(text, reader == Reader::Model)) {
        if (token.id >= model.config().vocab_size)
            throw ConfigError(fmt::format("the tokenizer gives \"{}\" the id {}, but the model has only {} ids",
                                          escaped(text.substr(token.begin, token.end - token.begin)), token.id, model.config().vocab_size));
        tokens.push_back({token.id, token.id == model.tokenizer().unknown_id(), false, token.begin, token.end});
    }
    return tokens;
}

std::vector<std::int32_t> segments_for(const OpenedModel& model, const TokenBatch& tokens) {
    const std::optional<std::int32_t> separator = model.config().num_segments > 1 ? model.tokenizer().separator() : std::nullopt;
    if (!separator) return {};
    std::vector<std::int32_t> segments(tokens.ids.size());
    bool any = false;
    for (std::int64_t b = 0; b < tokens.size(); ++b) {
        const std::int64_t begin = b * tokens.length, end = begin + tokens.lengths[static_cast<std::size_t>(b)];
        std::int64_t at = begin;
        while (at < end && tokens.ids[static_cast<std::size_t>(at)] != *separator) ++at;
        for (++at; at < end; ++at) {
            segments[static_cast<std::size_t>(at)] = 1;
            any = true;
        }
    }
    return any ? segments : std::vector<std::int32_t>();
}

std::optional<AddedToken> mask_token(const OpenedModel& model) {
    for (const AddedToken& token : model.tokenizer().added_tokens())
        if (token.content == "[MASK]" || token.content == "<mask>") return token;
    return std::nullopt;
}

}  // namespace attn::app
