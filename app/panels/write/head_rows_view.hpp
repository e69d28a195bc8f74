#pragma once
/// What the right pane of the Write view keeps from one frame to the next.

#include <memory>

namespace attn::app {

struct HeadRows;

struct HeadRowsView {
    std::shared_ptr<const HeadRows> last;  ///< of the moment shown last, to be seen until there is newer
};

}  // namespace attn::app
