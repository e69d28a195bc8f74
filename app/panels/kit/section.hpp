#pragma once
/// Collapsible sections of a pane. Their state is remembered between sessions.

#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Draws the heading; true if the section is open and its contents must be drawn. `name` is its name in the settings file, `value` a
/// summary shown while it is collapsed, at the right or `below` the title, `about` a sentence for its tooltip.
bool open_section(PanelContext& context, const char* name, const char* title, const std::string& value, std::string_view about = {},
                  bool below = false);

/// Opens all settings at a section, unfolded.
void open_settings_section(ViewState& view, const char* name);

}  // namespace attn::app
