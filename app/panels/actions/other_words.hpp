#pragma once
/// Other words for what can be done, and which of it gives something up: for the command palette.

#include <vector>

#include "app/panels/actions/actions.hpp"

namespace attn::app {

void add_other_words(std::vector<Action>& all);

}  // namespace attn::app
