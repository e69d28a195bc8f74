#pragma once
/// How the palette finds actions by what is typed.

#include <optional>
#include <string>
#include <string_view>

#include "app/panels/actions/actions.hpp"

namespace attn::app {

/// How an action answers what is typed.
struct Match {
    int rank = 0;         ///< the smaller, the better
    bool in_full = true;  ///< all words of its name were typed, or one of its other names
};

/// None if a typed word is neither the beginning of a word of the action's name, group or other names, nor, from four letters on, inside of
/// one or one slip away from its beginning. Case does not matter.
std::optional<Match> match(const Action& action, std::string_view typed);

/// How many letters have to be changed, inserted, left out or swapped with the next to make one word of the other.
int slips_between(std::string_view a, std::string_view b);

}  // namespace attn::app
