#pragma once
/// The steps by which a tokenizer makes pieces of a word.

#include <cstddef>

#include "app/panels/kit/panel_context.hpp"
#include "app/session/values/token_path.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

/// The number of a word's first step: 0 if that is the word before any step.
std::size_t first_number(const TokenPath::Word& word);

/// Draws the chosen step of a word with what it chose from, and all its steps as rows to choose from.
void draw_word(PanelContext& context, const TokenPath& path, std::size_t index, const Box& area);

}  // namespace attn::app
