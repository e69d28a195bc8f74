#pragma once
/// The settings section that lists the edits.

#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_edit_list(PanelContext& context);
/// Why the edit changes nothing; "" if it does, or is not computed yet.
std::string why_in_vain(const PanelContext& context, const Edit& edit);
/// While edits are in force and their list is out of sight, draws a chip that leads to it, right-aligned at `right`. Returns its width,
/// otherwise 0.
float draw_edit_chip(PanelContext& context, float right, float y, float room);

}  // namespace attn::app
