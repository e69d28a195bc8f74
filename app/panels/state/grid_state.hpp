#pragma once
/// The search state of the grid view.

#include <string>

namespace attn::app {

struct GridView {
    std::string find;    ///< such as "L5 H3", "layer 5", "sink": see read_head_query(); "": no search
    bool enter = false;  ///< Enter was pressed outside of the field
    bool focus = false;  ///< the field takes the focus in the next frame
};

}  // namespace attn::app
