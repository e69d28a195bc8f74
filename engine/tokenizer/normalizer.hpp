#pragma once
/// What a tokenizer does to a text before it cuts it into words.

#include <functional>
#include <string>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/tokenizer/aligned_text.hpp"

namespace attn {

/// One step; may be used by several threads at once.
struct Normalizer {
    std::string type;  ///< as tokenizer.json names it
    std::function<AlignedText(const AlignedText&, SearchTime&)> apply;
};

/// The steps of tokenizer.json's "normalizer", sequences laid flat. Throws FileError naming a type that there is not.
std::vector<Normalizer> read_normalizers(JsonObject component);

/// https://github.com/google-research/bert, tokenization.py: BasicTokenizer.
struct BertForm {
    bool clean = true;     ///< control characters go, all white space becomes " "
    bool chinese = true;   ///< a space before and behind every ideograph
    bool accents = false;  ///< marks go
    bool lower = true;
};

/// "BertNormalizer" and "NFC".
Normalizer bert_normalizer(BertForm form);
Normalizer nfc();

AlignedText normalized(const std::vector<Normalizer>& steps, AlignedText text);
/// The text with `front` before it; all of that has the origin of the first character. An empty text stays empty.
AlignedText with_front(const AlignedText& text, std::string_view front);

}  // namespace attn
