#pragma once
/// How a text becomes the tokens of a published model, shared by the window and all commands.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/session/states/opened_model.hpp"
#include "app/session/states/state.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn::app {

/// Which stack reads a text.
enum class Reader : std::uint8_t {
    Model,    ///< a decoder-only model, or the encoder of any other; the tokenizer's template is applied
    Decoder,  ///< the decoder of an encoder-decoder; the text follows the model's decoder start token
};

/// Throws ConfigError as ModelTokenizer::encode() does, and for a token without an id in the model.
std::vector<TextToken> tokens_for(const OpenedModel& model, const std::string& text, Reader reader);

/// The segment id of every position, for models that distinguish the two texts of a pair; a typed separator ends the first. Empty if the
/// text is not a pair.
std::vector<std::int32_t> segments_for(const OpenedModel& model, const TokenBatch& tokens);

/// The mask token; none if the model has none.
std::optional<AddedToken> mask_token(const OpenedModel& model);

}  // namespace attn::app
