#pragma once
/// What is done with the ids of a text, or of a pair of texts: special tokens around them, offsets without the spaces.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/tokenizer/encoding.hpp"

namespace attn {

/// The encodings of one text, or of two, and whatever earlier steps put around them; each knows its text.
struct EncodedPart {
    Encoding tokens;
    std::string_view text;
};

/// One step; may be used by several threads at once.
struct PostProcessor {
    std::string type;  ///< as tokenizer.json names it
    std::function<std::vector<EncodedPart>(std::vector<EncodedPart>, bool add_special)> apply;
};

/// The steps of tokenizer.json's "post_processor", sequences laid flat. Throws FileError naming a type that there is not.
std::vector<PostProcessor> read_post_processors(JsonObject component);

/// A template with a token before every text, and one behind it.
PostProcessor begin_and_end(std::optional<std::int32_t> begin, std::optional<std::int32_t> end);
/// "BertProcessing": `cls` before the texts, `sep` behind each.
PostProcessor bert_processing(std::int32_t cls, std::int32_t sep);

}  // namespace attn
