#pragma once
/// The words that a model knows: those that begin with what is being typed, and all of them by kind.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/session/values/facet.hpp"

namespace attn::app {

struct Snapshot;

/// The most completions to list.
inline constexpr std::size_t kMostCompletions = 5;

struct Completion {
    std::int32_t id = 0;
    std::string word;
    std::optional<double> chance{};  ///< of being the next word, if that is known
    bool operator==(const Completion&) const = default;
};

struct Completions {
    std::vector<Completion> best;  ///< the likeliest first or, where their chances are not known, by the alphabet
};

struct KnownWords {
    struct Kind {
        std::string name;  ///< "" if they are of no kind
        std::vector<std::string> words;
    };
    std::vector<Kind> kinds;
};

/// The known words, and those of the texts themselves, that begin with `typed` in whatever case, but for the word itself. `before`: the
/// text before it, whose last token their chances belong to if the pass has computed it. Nothing for "".
Completions completions_of(const Snapshot& pass, const TextOfState& text, const std::string& before, const std::string& typed);
/// All words that the state's model knows; of the stories by what they are about.
KnownWords known_words_of(const Setup& setup);

namespace facet {

struct Completions {
    using Value = app::Completions;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .comes_by_itself = true};
    TextOfState text;
    std::string before, typed;
    static Job<Value> make(const Completions&, Ask& ask);
    bool operator==(const Completions&) const = default;
};

struct KnownWords {
    using Value = app::KnownWords;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .comes_by_itself = true};
    static Job<Value> make(const KnownWords&, Ask& ask);
    bool operator==(const KnownWords&) const = default;
};

}  // namespace facet

}  // namespace attn::app
