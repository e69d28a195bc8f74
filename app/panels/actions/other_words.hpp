#pragma once
/// Synonyms for actions, and which actions discard something, for the command palette.

#include <vector>

#include "app/panels/actions/actions.hpp"

namespace attn::app {

void add_other_words(std::vector<Action>& all);

}  // namespace attn::app
