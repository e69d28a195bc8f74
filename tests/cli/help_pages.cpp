#include "tests/cli/help_pages.hpp"

#include <gtest/gtest.h>

#include <functional>
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

using Program = std::function<Outcome(const std::vector<std::string>&)>;

void add_help_pages(const Program& program, const std::vector<std::string>& command, std::vector<HelpPage>& pages) {
    std::vector<std::string> words = command;
    words.emplace_back("--help");
    HelpPage page{command, program(words).out, {}, {}};
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
        add_help_pages(program, words, pages);
    }
}

std::vector<HelpPage> pages_of(const Program& program, std::size_t least) {
    std::vector<HelpPage> pages;
    add_help_pages(program, {}, pages);
    EXPECT_GE(pages.size(), least) << "the help does not list its commands where this test looks";
    for (const HelpPage& page : pages) EXPECT_GE(page.options.size(), 2U) << page.text;
    return pages;
}

}  // namespace

std::vector<HelpPage> help_pages() {
    return pages_of([](const auto& words) { return attnscope(words); }, 13);
}

std::vector<HelpPage> dev_help_pages() {
    return pages_of([](const auto& words) { return attnscope_dev(words); }, 8);
}

}  // namespace attn::test
