#pragma once
/// A description of the command line as plain data, from which manual pages and completions are generated.

#include <string>
#include <vector>

namespace attn::app {

struct ArgumentText {
    std::vector<std::string> names;  ///< such as "-h", "--help"; for a positional argument, its placeholder
    std::string value;               ///< an option's placeholder, such as "FILE.json"; "" for flags and positional arguments
    std::string help;
    std::vector<std::string> choices;  ///< values to offer
    bool closed = false;               ///< other values are rejected
    bool positional = false, required = false, repeated = false;
    std::vector<std::string> needs, excludes;  ///< names of other options of the command
};

struct CommandText {
    std::string name, help, footer;
    std::vector<ArgumentText> arguments;
    std::vector<CommandText> commands;
};

}  // namespace attn::app
