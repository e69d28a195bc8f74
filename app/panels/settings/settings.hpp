#pragma once
/// The settings: a short pane, and all of them over it.

#include <optional>
#include <string_view>
#include <vector>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The masks, and a line for each of the other groups that the view needs; in a lesson, what that shows.
void draw_settings(PanelContext& context);
/// Every group, with a search.
void draw_all_settings(PanelContext& context);
/// A section of the settings: its name in the settings file, and its title.
struct ListedSection {
    const char* name;
    std::string_view title;
    std::string_view words;      ///< of its settings, for a search
    std::optional<View> view{};  ///< the view to show it in, where the present one does not have it
};
/// The current settings sections from top to bottom; `of_all_views`: and those of other views.
std::vector<ListedSection> listed_sections(const PanelContext& context, bool of_all_views = false);

}  // namespace attn::app
