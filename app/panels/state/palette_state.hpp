#pragma once
/// The state of the command palette: the query and recently used actions.

#include <string>
#include <vector>

namespace attn::app {

struct PaletteState {
    bool open = false;
    bool focus = false;   ///< the field takes the focus
    bool reveal = false;  ///< scroll to the selected line
    std::string query;
    int chosen = 0;                   ///< index in the list
    bool moved = false;               ///< it was chosen with the arrow keys
    std::vector<std::string> recent;  ///< names of actions, most recent first
};

void open_palette(PaletteState& palette);

}  // namespace attn::app
