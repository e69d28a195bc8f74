#pragma once
/// What is typed into the command palette, and what was done with it before.

#include <string>
#include <vector>

namespace attn::app {

struct PaletteState {
    bool open = false;
    bool focus = false;   ///< the field asks for the keyboard
    bool reveal = false;  ///< the chosen line has to be scrolled to
    std::string query;
    int chosen = 0;                   ///< of the lines that are listed
    std::vector<std::string> recent;  ///< names of actions, the last one done first
};

void open_palette(PaletteState& palette);

}  // namespace attn::app
