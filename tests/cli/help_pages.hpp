#pragma once
/// Reads the --help output of every command.

#include <string>
#include <vector>

namespace attn::test {

struct HelpPage {
    std::vector<std::string> command;  ///< words after attnscope: {}, {"trace"}
    std::string text;
    std::vector<std::string> options, commands;  ///< as listed: "-h", "--help", ...
};

/// The pages of the program and all its commands. Fails the test if there are suspiciously few.
std::vector<HelpPage> help_pages();
/// The same of attnscope-dev.
std::vector<HelpPage> dev_help_pages();

}  // namespace attn::test
