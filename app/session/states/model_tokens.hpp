#pragma once
/// How a published model is given a text, by the window and by every command.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/session/states/opened_model.hpp"
#include "app/session/states/state.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn::app {

/// Who reads a text.
enum class Reader : std::uint8_t {
    Model,    ///< all of it, or its encoder: the tokenizer's template is put around the text
    Decoder,  ///< that of an encoder-decoder: the text stands behind a token of the model's own, which begins every answer
};

/// Throws ConfigError as ModelTokenizer::encode() does, and for a token that the model has no id for.
std::vector<TextToken> tokens_for(const OpenedModel& model, const std::string& text, Reader reader);

/// The segment of every position of a model that tells the two texts of a pair apart: a separator that was typed ends the first. Empty
/// where there is no pair.
std::vector<std::int32_t> segments_for(const OpenedModel& model, const TokenBatch& tokens);

/// What stands for a hidden word; nothing where the model has no such token.
std::optional<AddedToken> mask_token(const OpenedModel& model);

}  // namespace attn::app
