#pragma once
/// What is said of the words of a text that are new to its model.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn::app {

struct Setup;

/// The words of the setup's texts that its model has never read, in order; none if the model knows all of them or reads no others.
std::vector<std::string> new_words_of(const Setup& setup);

/// One sentence that names them and says what the model can do with them: "“scooter” and “Sofia” are new to this model: it can follow them
/// through the story, but it has only read stories of this kind." `places`: how many of them it can tell apart. "" for no words.
std::string new_words_sentence(std::span<const std::string> words, std::int64_t places);
/// The same for a setup.
std::string new_words_sentence(const Setup& setup);

}  // namespace attn::app
