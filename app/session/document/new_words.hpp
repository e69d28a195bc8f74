#pragma once
/// What is said of the words of a text that are new to its model, and which words that it knows may be meant while one is typed.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// A word that the model knows.
struct Completion {
    std::int32_t id = 0;
    std::string word;
    std::optional<double> chance{};  ///< of being the next word, if that is known
    bool operator==(const Completion&) const = default;
};

/// The words that begin with what was typed, in whatever case: the likeliest first, or, if their chances are not known, by the alphabet.
/// `known`: the text of every id that stands for a known word; `chances`: of all of them, or none. Nothing for "".
std::vector<Completion> completions(std::string_view typed, std::span<const std::string> known, std::span<const float> chances = {},
                                    std::size_t most = 5);

}  // namespace attn::app
