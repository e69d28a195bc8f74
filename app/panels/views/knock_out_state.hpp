#pragma once
/// The state of the knock-out view.

#include <memory>

#include "engine/trace/head_worth.hpp"

namespace attn::app {

struct KnockOutState {
    bool chance = false;                   ///< measure the probability of the selected token instead of the loss
    bool stopped = false;                  ///< cancelled by the user: do not measure until requested again
    std::shared_ptr<const KnockOut> last;  ///< last result, shown until a new one is ready
};

}  // namespace attn::app
