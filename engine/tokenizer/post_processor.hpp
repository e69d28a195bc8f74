#pragma once
/// The last step, for a text or a pair of texts: adds special tokens, and trims white space from byte ranges.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/tokenizer/encoding.hpp"

namespace attn {

/// The tokens of a text, or tokens added by earlier steps, together with the text.
struct EncodedPart {
    Encoding tokens;
    std::string_view text;
};

/// One step. Thread-safe.
struct PostProcessor {
    std::string type;  ///< the name in tokenizer.json
    std::function<std::vector<EncodedPart>(std::vector<EncodedPart>, bool add_special)> apply;
};

/// Reads tokenizer.json's "post_processor"; sequences are flattened. Throws FileError naming an unknown type.
std::vector<PostProcessor> read_post_processors(JsonObject component);

/// A template with a begin token before and an end token after every text, as far as they are given. The texts of a pair are two segments
/// or one.
PostProcessor begin_and_end(std::optional<std::int32_t> begin, std::optional<std::int32_t> end, bool segments = true);
/// "BertProcessing": `cls` first, `sep` after each text.
PostProcessor bert_processing(std::int32_t cls, std::int32_t sep);
/// "RobertaProcessing": `cls` first, `sep` after the first text, and on both sides of the second. `trimmed`: white space is trimmed from
/// byte ranges, except one that was added before the text.
PostProcessor roberta_processing(std::int32_t cls, std::int32_t sep, bool trimmed, bool add_prefix_space);

}  // namespace attn
