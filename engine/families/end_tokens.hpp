#pragma once
/// The tokens with which a published model ends what it writes.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/io/gguf.hpp"
#include "engine/io/json_object.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"

namespace attn {

struct EndTokens {
    std::vector<std::int32_t> ids;   ///< writing ends with any of these; ascending
    std::vector<std::string> notes;  ///< what was left out and why, one sentence each
};

/// Of a folder: the "eos_token_id" of generation_config.json, else of config.json, which transformers' generate() takes in that order; else
/// the tokenizer's "eos_token". `tokenizer` may be null. Throws FileError for a generation_config.json that is damaged and for ids that are
/// no numbers; those outside the vocabulary are left out, as some models have them.
EndTokens folder_end_tokens(const std::filesystem::path& folder, JsonObject& config, const ModelTokenizer* tokenizer,
                            std::int64_t vocab_size);

/// Of a GGUF file: the ids of the ends of a text, of a turn and of a message, as llama.cpp stops at each of them.
EndTokens gguf_end_tokens(const GgufFile& file, std::int64_t vocab_size);

}  // namespace attn
