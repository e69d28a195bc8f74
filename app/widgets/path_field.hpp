#pragma once
/// A line for a path: Tab completes it, the arrows choose among what it could become, Backspace behind a folder leaves that.

#include <string>
#include <vector>

#include "app/widgets/controls.hpp"

namespace attn::app {

struct PathField {
    std::string text;
    std::vector<std::string> completions;  ///< whole texts that could stand here, as the caller finds them
    int chosen = -1;                       ///< by the arrow keys, among the completions
    bool focus = false;                    ///< takes the keyboard in the next frame, with the caret at the end
    bool caret_to_end = false;
    std::string shown;  ///< the text as the field had it in the frame before
};

struct PathFieldResult {
    bool entered = false;  ///< Enter was pressed; what the arrows had chosen stands in the text then
    bool changed = false;
};

PathFieldResult path_field(const Ui& ui, const char* id, PathField& field, const char* hint);

/// What all of them begin with.
std::string common_beginning(const std::vector<std::string>& texts);

}  // namespace attn::app
