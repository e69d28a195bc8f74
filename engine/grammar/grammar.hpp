#pragma once
/// Texts of our own making: a program tells them, and so it is known what may come next.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/grammar/draws.hpp"

namespace attn {

/// To whom a text is told. The program that tells asks it for every choice, so that the same program draws texts and, played with every
/// choice that the words so far leave open, says what may come next.
class Teller {
public:
    virtual ~Teller() = default;
    /// One of several ways to go on, each as often as its weight (a whole number, at least one of them above 0) says.
    virtual std::size_t choose(std::span<const int> weights) = 0;
    std::size_t choose(std::initializer_list<int> weights) { return choose(std::span(weights.begin(), weights.size())); }
    /// One of `count` ways, evenly.
    virtual std::size_t among(std::size_t count) = 0;
    bool maybe(int yes, int no) { return choose({no, yes}) == 1; }
    /// Words and punctuation marks, each a token, separated by single spaces.
    virtual void say(std::string_view words) = 0;
};

struct WordChance {
    std::int32_t word = 0;
    double chance = 0;
    bool operator==(const WordChance&) const = default;
};

/// What may stand at one place, given the words before it. The chances sum to 1, or to less where the text may end there.
struct NextWord {
    std::vector<WordChance> words;  ///< ids ascend, chances are above 0
    bool determined() const { return words.size() == 1 && words.front().chance > 1 - 1e-9; }
    double entropy() const;  ///< in nats; what the best of models loses here on average
    double chance_of(std::int32_t word) const;
};

/// Immutable. A telling that is heard no more (all that was asked for is said) gets way 0 whenever it chooses, and must come to an end.
class Grammar {
public:
    using Telling = void (*)(Teller&);
    /// Throws Error for a word given twice.
    Grammar(std::vector<std::string> vocabulary, Telling telling);

    /// Text of every id: words and punctuation marks.
    const std::vector<std::string>& vocabulary() const { return vocabulary_; }
    /// Throws Error for a word that the vocabulary lacks.
    std::int32_t id_of(std::string_view word) const;
    /// Words separated by spaces.
    std::vector<std::int32_t> ids_of(std::string_view words) const;

    /// A text from its beginning, as far as `words` has room; returns how many words it has.
    std::int64_t tell(Draws& draws, std::span<std::int32_t> words) const;

    /// What may stand at every place of a text of this grammar, be it cut off: [words + 1], the last of them what may follow. Exact: the
    /// sum over all ways to tell these words. Throws Error naming the first word that cannot stand where it does.
    std::vector<NextWord> next_words(std::span<const std::int32_t> words) const;

private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::vector<std::string> vocabulary_;
    std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
    Telling telling_;
};

}  // namespace attn
