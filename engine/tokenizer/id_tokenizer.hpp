#pragma once
/// The tokenizer of a model that comes without one: a text is a list of ids, such as "464 3290".

#include <cstdint>
#include <memory>

#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

/// Reads ids from 0 to `ids` - 1, with white space or commas between them. encode() throws ConfigError for anything else.
std::shared_ptr<const ModelTokenizer> id_tokenizer(std::int64_t ids);

}  // namespace attn
