#pragma once
/// Two languages for the Translate task: a little English, and an invented one whose grammar differs from it as natural languages differ.
///
/// For "the small cats often remembered a red fox near the library ." the other language has
///   "ratu le miran timan vuro ruvo en le domo libru kol mem torunt ."
/// - the verb comes last, an adverb first; a preposition follows its place, an adjective its noun;
/// - an adjective agrees with its noun in gender and number, a verb with its subject in number, which the English past does not show;
/// - some words become two ("library": "domo libru", "remembered": "mem torunt"), and "a" becomes none;
/// - "en" marks the object and translates no word.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/grammar/draws.hpp"

namespace attn {

/// Separates the sentence from its translation.
inline constexpr const char* kAnswerBegins = ">";

/// A sentence in both languages.
struct SentencePair {
    static constexpr std::size_t kLongestEnglish = 13, kLongestAnswer = 19;

    /// Word ids, without padding.
    template <std::size_t Longest>
    struct Words {
        std::array<std::int32_t, Longest> room{};
        std::size_t count = 0;
        std::span<const std::int32_t> ids() const { return {room.data(), count}; }
    };
    Words<kLongestEnglish> english;  ///< ends with "." or "!"
    Words<kLongestAnswer> answer;    ///< ends with the same
    /// For every word of the answer, the index of the English word it translates; -1 if there is none.
    std::array<std::int32_t, kLongestAnswer> aligned{};
};

/// The words of both languages, by id.
const std::vector<std::string>& toy_vocabulary();
/// A random sentence in which no noun and no adjective occurs twice. Allocates only on the first call.
SentencePair draw_sentence_pair(Draws& draws);

}  // namespace attn
