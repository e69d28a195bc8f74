#pragma once
/// The words that may be meant while one is typed, and the sheet of all words that the model knows.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/session/values/completions.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

struct CompletionState {
    std::string before, typed;                  ///< the text before the word, and its beginning; "": no list
    std::size_t from = 0;                       ///< the byte of the field where the word begins
    std::optional<std::size_t> closed_at{};     ///< the word whose list has been closed
    std::optional<std::size_t> space_at{};      ///< the byte with the space that came with the word taken last
    int chosen = -1;                            ///< line of the list; -1: none
    std::shared_ptr<const Completions> last{};  ///< shown until the next ones are known
    Box box{};                                  ///< where the list was drawn
};

/// Where a chosen word goes: the bytes [from, to) of this text; at its end if it has changed.
struct WordSheetPlace {
    std::string text;
    std::size_t from = 0, to = 0;
};

struct WordSheetState {
    struct Line {
        std::string heading{};
        std::vector<std::pair<float, std::string>> words{};  ///< with their distance from the left edge, in pixels
    };
    bool open = false;
    std::optional<WordSheetPlace> place{};
    std::shared_ptr<const KnownWords> words{};  ///< those of `lines`
    float width = 0;
    std::vector<Line> lines{};
};

}  // namespace attn::app
