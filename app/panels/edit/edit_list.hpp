#pragma once
/// The settings section that lists the edits.

#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_edit_list(PanelContext& context);
/// Why the edit changes nothing; "" if it does, or is not computed yet.
std::string why_in_vain(const PanelContext& context, const Edit& edit);

}  // namespace attn::app
