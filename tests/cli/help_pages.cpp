#include "tests/cli/help_pages.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/cli/command_lines.hpp"
#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

/// "  -h,--help     Print ..." -> -h, --help
std::vector<std::string> listed_names(const std::string& line) {
    std::vector<std::string> names;
    std::istringstream list(line.substr(2, line.find(' ', 2) - 2));
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
    return names;
}

void add_help_pages(const std::vector<std::string>& command, std::vector<HelpPage>& pages) {
    std::vector<std::string> words = command;
    words.emplace_back("--help");
    HelpPage page{command, attnscope(words).out, {}, {}};
    std::vector<std::string>* list = nullptr;
    for (const std::string& line : lines_of(page.text)) {
        if (line == "Options:") list = &page.options;
        else if (line == "Subcommands:") list = &page.commands;
        else if (!line.starts_with("  ")) list = nullptr;
        else if (list != nullptr && !line.starts_with("   "))
            for (const std::string& name : listed_names(line)) list->push_back(name);
    }
    pages.push_back(page);
    for (const std::string& below : page.commands) {
        words.back() = below;
        add_help_pages(words, pages);
    }
}

}  // namespace

std::vector<HelpPage> help_pages() {
    std::vector<HelpPage> pages;
    add_help_pages({}, pages);
    EXPECT_GT(pages.size(), 17U) << "the help does not list its commands where this test looks";
    for (const HelpPage& page : pages) EXPECT_GE(page.options.size(), 2U) << page.text;
    return pages;
}

}  // namespace attn::test
