#pragma once
/// What --help prints of every command, and what stands in it.

#include <string>
#include <vector>

namespace attn::test {

struct HelpPage {
    std::vector<std::string> command;  ///< words after attnscope: {}, {"trace"}, {"bench", "train"}
    std::string text;
    std::vector<std::string> options, commands;  ///< as listed: "-h", "--help", ...
};

/// The program's own and those of all commands. Fails the test when there are too few to be all.
std::vector<HelpPage> help_pages();

}  // namespace attn::test
