#pragma once
/// The pages of assets/help, as the help sheet shows them.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/view_state.hpp"
#include "app/widgets/markdown.hpp"

namespace attn::app {

struct HelpPage {
    std::string title;  ///< its first heading
    std::vector<MarkdownBlock> blocks;
};

/// In the order of their files' names. Parsed once.
std::span<const HelpPage> help_pages();

/// The parts of all pages that contain these letters, upper and lower case alike, under the titles of their pages.
std::vector<MarkdownBlock> find_in_help(std::string_view letters);

/// Opens the sheet at the page of this title.
void open_help_page(ViewState& view, std::string_view title);

}  // namespace attn::app
