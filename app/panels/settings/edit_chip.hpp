#pragma once
/// The chip that says that edits are in force.

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// While edits are in force and their list is out of sight, draws a chip that leads to it, right-aligned at `right`. Returns its width,
/// otherwise 0.
float draw_edit_chip(PanelContext& context, float right, float y, float room);

}  // namespace attn::app
