#pragma once
/// What the right pane of the Write view keeps from one frame to the next.

#include <memory>
#include <string>
#include <vector>

#include "engine/plan/config.hpp"

namespace attn::app {

struct HeadRows;

struct HeadRowsView {
    std::shared_ptr<const HeadRows> last;        ///< of the moment shown last, to be seen until there is newer
    Config config;                               ///< of the model that they are of
    std::string word;                            ///< that this moment ends with
    std::vector<std::vector<std::string>> keys;  ///< of each kind of rows, the words that they look at
};

}  // namespace attn::app
