#pragma once
/// The tokens with which a published model ends its output.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/io/gguf.hpp"
#include "engine/io/json_object.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

struct EndTokens {
    std::vector<std::int32_t> ids;   ///< generation stops at any of these; ascending
    std::vector<std::string> notes;  ///< ids that were ignored and why, one sentence each
};

/// For a folder: "eos_token_id" of generation_config.json, else of config.json (the order in transformers' generate()), else the
/// tokenizer's "eos_token". `tokenizer` may be null. Throws FileError for a damaged generation_config.json or ids that are not numbers; ids
/// outside the vocabulary, which some models list, are ignored.
EndTokens folder_end_tokens(const std::filesystem::path& folder, JsonObject& config, const ModelTokenizer* tokenizer,
                            std::int64_t vocab_size);

/// For a GGUF file: the end-of-text, end-of-turn and end-of-message tokens, at each of which llama.cpp stops.
EndTokens gguf_end_tokens(const GgufFile& file, std::int64_t vocab_size);

}  // namespace attn
