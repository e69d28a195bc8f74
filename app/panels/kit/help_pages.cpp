#include "app/panels/kit/help_pages.hpp"

#include <algorithm>
#include <cctype>

#include "assets/embedded.hpp"

namespace attn::app {
namespace {

std::vector<HelpPage> parse_pages() {
    std::vector<HelpPage> pages;
    for (const EmbeddedFile& file : embedded_assets()) {
        if (!file.name.starts_with("help/")) continue;
        HelpPage page{"", parse_markdown(file.bytes)};
        if (!page.blocks.empty()) page.title = page.blocks.front().text();
        pages.push_back(std::move(page));
    }
    return pages;
}

bool contains(std::string_view text, std::string_view letters) {
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    return std::search(text.begin(), text.end(), letters.begin(), letters.end(), same) != text.end();
}

}  // namespace

std::span<const HelpPage> help_pages() {
    static const std::vector<HelpPage> kPages = parse_pages();
    return kPages;
}

std::vector<MarkdownBlock> find_in_help(std::string_view letters) {
    std::vector<MarkdownBlock> found;
    for (const HelpPage& page : help_pages()) {
        bool titled = false;
        for (const MarkdownBlock& block : page.blocks) {
            if (block.kind == MarkdownBlock::Kind::Heading || !contains(block.text(), letters)) continue;
            if (!titled) found.push_back(page.blocks.front());
            titled = true;
            found.push_back(block);
        }
    }
    return found;
}

void open_help_page(ViewState& view, std::string_view title) {
    const std::span<const HelpPage> pages = help_pages();
    const auto found = std::find_if(pages.begin(), pages.end(), [&](const HelpPage& page) { return page.title == title; });
    if (found == pages.end()) return;
    view.help = true;
    view.help_page.search.clear();
    view.help_page.page = static_cast<int>(found - pages.begin()) + 1;
}

}  // namespace attn::app
