#pragma once
/// Synthetic texts told by a program, so that the exact distribution of every next word is known.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/grammar/draws.hpp"

namespace attn {

/// Receives a text from the program that tells it. The program asks it for every choice; so the same program can draw random texts and, by
/// following all choices consistent with the words so far, enumerate what may come next.
class Teller {
public:
    virtual ~Teller() = default;
    /// Chooses one of several ways to go on, with probability proportional to its weight (a whole number; at least one is above 0).
    virtual std::size_t choose(std::span<const int> weights) = 0;
    std::size_t choose(std::initializer_list<int> weights) { return choose(std::span(weights.begin(), weights.size())); }
    /// Chooses one of `count` ways uniformly.
    virtual std::size_t among(std::size_t count) = 0;
    bool maybe(int yes, int no) { return choose({no, yes}) == 1; }
    /// Adds words and punctuation marks, separated by single spaces; each is a token.
    virtual void say(std::string_view words) = 0;
};

struct WordChance {
    std::int32_t word = 0;
    double chance = 0;
    bool operator==(const WordChance&) const = default;
};

/// The distribution of the word at one place, given the words before it. The chances sum to 1, or to less if the text may end there.
struct NextWord {
    std::vector<WordChance> words;  ///< by ascending id; all chances are above 0
    bool determined() const { return words.size() == 1 && words.front().chance > 1 - 1e-9; }
    double entropy() const;  ///< in nats: the lowest expected loss any model can reach here
    double chance_of(std::int32_t word) const;
};

/// Immutable. When all requested words have been told, every further choice is way 0; the telling must then terminate.
class Grammar {
public:
    using Telling = void (*)(Teller&);
    /// Throws Error for a duplicate word.
    Grammar(std::vector<std::string> vocabulary, Telling telling);

    /// Text of every id: a word or punctuation mark.
    const std::vector<std::string>& vocabulary() const { return vocabulary_; }
    /// Throws Error if the vocabulary lacks the word.
    std::int32_t id_of(std::string_view word) const;
    /// Words separated by spaces.
    std::vector<std::int32_t> ids_of(std::string_view words) const;

    /// Tells a text from its beginning until it ends or `words` is full; returns the number of words.
    std::int64_t tell(Draws& draws, std::span<std::int32_t> words) const;

    /// The distribution at every place of a text of this grammar, which may be cut off: [words + 1], the last one for the word after it.
    /// Exact: sums over all ways to tell these words. Throws Error naming the first word that cannot stand where it does.
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
