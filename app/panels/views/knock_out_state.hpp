#pragma once
/// What the person asks about the worth of the heads.

#include <memory>

#include "engine/trace/head_worth.hpp"

namespace attn::app {

struct KnockOutState {
    bool chance = false;                   ///< how likely the chosen token is, instead of the loss
    bool stopped = false;                  ///< cancelled by hand: nothing is measured until it is asked for
    std::shared_ptr<const KnockOut> last;  ///< measured last, to be seen until there is newer
};

}  // namespace attn::app
