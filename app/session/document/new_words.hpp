#pragma once
/// What is said of the words that a model knows, and of those of a text that are new to it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn::app {

struct Setup;

/// The words of a model that was trained on a list of words, without special tokens and places for new ones. None for a model that reads
/// characters or pieces, and for one whose words are those of its texts.
std::span<const std::string> known_words(const Setup& setup);
/// "reads any word", "knows 17 words", or "" if it has no list of words.
std::string reading_words(const Setup& setup);

/// The words of the setup's texts that its model has never read, in order; none if the model knows all of them or reads no others.
std::vector<std::string> new_words_of(const Setup& setup);

/// One sentence that names them and says what the model can do with them: "“scooter” and “Sofia” are new to this model: it can follow them
/// through the story, but it has only read stories of this kind." `places`: how many of them it can tell apart. "" for no words.
std::string new_words_sentence(std::span<const std::string> words, std::int64_t places);
/// The same for a setup.
std::string new_words_sentence(const Setup& setup);

}  // namespace attn::app
