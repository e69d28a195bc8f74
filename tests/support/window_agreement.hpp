#pragma once
/// Checks that all parts of the window were drawn of one state, and that the window says where that is not the state asked for.

#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app::test {

/// To be called after the frame was drawn. Returns what disagrees, "" if nothing does.
std::string disagreement_in_window(const PanelContext& context);

}  // namespace attn::app::test
