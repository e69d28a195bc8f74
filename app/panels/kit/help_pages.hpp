#pragma once
/// The pages in assets/help, for the help sheet.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/state/view_state.hpp"
#include "app/widgets/markdown.hpp"

namespace attn::app {

struct HelpPage {
    std::string title;  ///< its first heading
    std::vector<MarkdownBlock> blocks;
};

/// In the order of file names. Parsed once.
std::span<const HelpPage> help_pages();

/// The blocks of all pages that contain the text (case-insensitive), under the titles of their pages.
std::vector<MarkdownBlock> find_in_help(std::string_view letters);

/// Opens the help sheet at the page with this title.
void open_help_page(ViewState& view, std::string_view title);

}  // namespace attn::app
