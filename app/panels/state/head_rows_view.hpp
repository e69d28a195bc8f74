#pragma once
/// The cached contents of the Write view's right pane.

#include <memory>
#include <string>
#include <vector>

#include "engine/plan/config.hpp"

namespace attn::app {

struct HeadRows;

struct HeadRowsView {
    std::shared_ptr<const HeadRows> last;        ///< rows of the last moment, shown until new ones are ready
    Config config;                               ///< of the model they belong to
    std::string word;                            ///< the last word of that moment
    std::vector<std::vector<std::string>> keys;  ///< the words attended to, for each kind of rows
};

}  // namespace attn::app
