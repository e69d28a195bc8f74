#pragma once
/// What a tokenizer does to a text before splitting it into words.

#include <functional>
#include <string>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/tokenizer/aligned_text.hpp"

namespace attn {

/// One step. Thread-safe.
struct Normalizer {
    std::string type;  ///< the name in tokenizer.json
    std::function<AlignedText(const AlignedText&, SearchWork&)> apply;
};

/// Reads tokenizer.json's "normalizer"; sequences are flattened. Throws FileError naming an unknown type.
std::vector<Normalizer> read_normalizers(JsonObject component);

/// BERT's normalization: https://github.com/google-research/bert, tokenization.py, BasicTokenizer.
struct BertForm {
    bool clean = true;     ///< remove control characters; all white space becomes " "
    bool chinese = true;   ///< a space before and after every CJK ideograph
    bool accents = false;  ///< remove accents
    bool lower = true;
};

/// "BertNormalizer", "NFC", "Replace", "Strip" and "Precompiled", SentencePiece's character map in its own bytes. The last throws
/// ConfigError if they are damaged.
Normalizer bert_normalizer(BertForm form);
Normalizer nfc();
Normalizer replace_matches(TextPattern pattern, std::string by);
Normalizer strip_space(bool left, bool right);
Normalizer precompiled(std::string character_map);

AlignedText normalized(const std::vector<Normalizer>& steps, AlignedText text);
/// Throws ConfigError if a normalizer has made absurdly many bytes of `of` typed ones: replacements can multiply a text, and several in
/// turn without end.
void expect_no_flood(std::size_t bytes, std::size_t of);
/// The text with `front` before it, which gets the origin of the first character. An empty text stays empty.
AlignedText with_front(const AlignedText& text, std::string_view front);

}  // namespace attn
