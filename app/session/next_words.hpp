#pragma once
/// The words that a model thinks likeliest to come next.

#include <cstdint>
#include <string>
#include <vector>

namespace attn::app {

struct Snapshot;

struct NextWord {
    std::int32_t id = 0;
    std::string text;
    double probability = 0;
};

struct NextWords {
    std::vector<NextWord> likeliest;  ///< the likeliest first; special tokens are left out
    std::int64_t others = 0;          ///< how many there are besides
    double rest = 0;                  ///< their probability together
};

/// How many are named at most.
inline constexpr std::size_t kMostNextWords = 16;

/// After the last token of this sequence, at this temperature (from a small one up: 0 is all for the first). Throws Error for a model that
/// predicts no next token, and for a text without one.
NextWords next_words(const Snapshot& snapshot, std::int64_t sequence, double temperature);

/// The text with the word behind it, as the document's tokenizer would cut it again.
std::string with_word(const std::string& text, const std::string& word, bool spaced);

}  // namespace attn::app
