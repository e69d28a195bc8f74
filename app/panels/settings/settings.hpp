#pragma once
/// The settings pane.

#include <string_view>
#include <vector>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

void draw_settings(PanelContext& context);
/// A section of the settings: its name in the settings file, and its title.
struct ListedSection {
    const char* name;
    std::string_view title;
    std::string_view words;  ///< of its settings, for a search
};
/// The current settings sections from top to bottom.
std::vector<ListedSection> listed_sections(const PanelContext& context);

}  // namespace attn::app
