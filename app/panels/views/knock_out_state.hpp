#pragma once
/// What the person asks about the worth of the heads.

namespace attn::app {

struct KnockOutState {
    bool chance = false;   ///< how likely the chosen token is, instead of the loss
    bool stopped = false;  ///< cancelled by hand: nothing is measured until it is asked for
};

}  // namespace attn::app
