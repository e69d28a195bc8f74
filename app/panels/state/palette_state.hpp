#pragma once
/// The state of the command palette: the query and recently used actions.

#include <memory>
#include <string>
#include <vector>

namespace attn::app {

struct PaletteList;

/// What was switched or discarded from the palette: said for a moment.
struct ToldAction {
    std::string what;
    double until = 0;  ///< in seconds
};

/// The control that a line led to: framed for a moment.
struct FramedControl {
    std::string words;  ///< as FocusStop::words
    double until = 0;   ///< in seconds
};

struct PaletteState {
    bool open = false;
    bool focus = false;   ///< the field takes the focus
    bool reveal = false;  ///< scroll to the selected line
    std::string query;
    int chosen = 0;                       ///< index in the list
    bool moved = false;                   ///< it was chosen with the arrow keys
    std::vector<std::string> recent;      ///< names of actions, most recent first
    std::shared_ptr<PaletteList> list{};  ///< what is listed for the query, made once
    ToldAction told{};
    FramedControl framed{};
};

void open_palette(PaletteState& palette);

}  // namespace attn::app
