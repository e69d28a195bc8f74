#pragma once
/// Words with how likely they are, as bars, with the sampler's cut drawn in.

#include <functional>
#include <string>
#include <string_view>

#include "app/panels/panel_context.hpp"
#include "app/session/facets/next_words.hpp"

namespace attn::app {

/// What a list of words is for.
struct WordList {
    std::function<void(const NextWord&)> choose;          ///< a word was clicked
    std::function<std::string(const NextWord&)> click{};  ///< the tooltip's last line: what a click does
    std::function<float(const NextWord&)> mark{};         ///< a spot before the word: 0 none, 0.5 small, 1 the one on the branch
    bool drawn = true;                                    ///< with the sampler's chances and cuts
};
void draw_words(PanelContext& context, const NextWords& words, const WordList& list);

/// What may come next at the moment that is shown.
void draw_candidates(PanelContext& context);

}  // namespace attn::app
