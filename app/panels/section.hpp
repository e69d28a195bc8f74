#pragma once
/// A part of a pane that can be folded. Which are folded is remembered from one start to the next.

#include <string>
#include <string_view>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// Draws its heading; true while it is open and what is in it has to be drawn. `name` is what the settings file calls it, `value` what is
/// set in it: a folded one shows it, so that nothing need be opened to be read. `about` is a sentence for its tooltip.
bool open_section(PanelContext& context, const char* name, const char* title, const std::string& value, std::string_view about = {});

}  // namespace attn::app
