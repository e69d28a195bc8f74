#pragma once
/// A list of candidate tokens with their probabilities as bars and the sampler's truncation.

#include <functional>
#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"
#include "app/session/values/next_words.hpp"

namespace attn::app {

/// Options for a list of candidates.
struct WordList {
    std::function<void(const NextWord&)> choose;          ///< called when a word is clicked
    std::function<std::string(const NextWord&)> click{};  ///< last line of the tooltip: what a click does
    std::function<float(const NextWord&)> mark{};         ///< size of the dot before a word: 0 none, 0.5 small, 1 for the shown branch
    bool drawn = true;                                    ///< show the sampler's probabilities and truncation
};
void draw_words(PanelContext& context, const NextWords& words, const WordList& list);

/// Draws the candidates for the next token at the shown moment.
void draw_candidates(PanelContext& context);

}  // namespace attn::app
