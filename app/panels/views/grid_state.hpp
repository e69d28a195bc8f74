#pragma once
/// What is looked for among all heads.

#include <string>

namespace attn::app {

struct GridView {
    std::string find;    ///< "L5 H3", "layer 5", "sink": see find_heads(); "": nothing, all are alike
    bool focus = false;  ///< the field takes the keyboard in the next frame
};

}  // namespace attn::app
