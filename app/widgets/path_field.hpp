#pragma once
/// A text field for a path: Tab completes it, arrow keys choose a completion, Backspace after a folder removes the folder.

#include <string>
#include <vector>

#include "app/widgets/controls.hpp"

namespace attn::app {

struct PathField {
    std::string text;
    std::vector<std::string> completions;  ///< possible completions (full texts), supplied by the caller
    int chosen = -1;                       ///< index of the completion chosen with the arrow keys
    bool focus = false;                    ///< take the focus in the next frame, with the caret at the end
    bool caret_to_end = false;
    bool select_name = false;  ///< with the focus, the file's name is selected, so that typing replaces it
    std::string shown;         ///< the field's text in the previous frame
};

struct PathFieldResult {
    bool entered = false;  ///< Enter was pressed; `text` is then the chosen completion, if any
    bool changed = false;
};

PathFieldResult path_field(const Ui& ui, const char* id, PathField& field, const char* hint);

/// The longest common prefix.
std::string common_beginning(const std::vector<std::string>& texts);

}  // namespace attn::app
