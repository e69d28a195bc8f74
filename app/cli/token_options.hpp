#pragma once
/// --token and --against: the tokens that --view knock-out asks about.

#include "app/cli/view_options.hpp"
#include "app/panels/state/view_state.hpp"
#include "app/session/values/snapshot.hpp"

namespace attn::app {

/// Sets the tokens that are asked about. Where a name fits a token with and without a space before it, it means the text's own token if
/// that is one of them, else the likelier one, and standard error says which. Throws Error for a text that is not a token, and if both
/// tokens are the same.
void choose_tokens(const ViewOptions& options, const Snapshot& snapshot, ViewState& view);

}  // namespace attn::app
