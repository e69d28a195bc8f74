#pragma once
/// What the command line says of itself, as plain data: manual pages and completions are made of it.

#include <string>
#include <vector>

namespace attn::app {

struct ArgumentText {
    std::vector<std::string> names;  ///< "-h", "--help"; of a positional argument the name that stands for its value
    std::string value;               ///< what stands for an option's value, "FILE.json"; "" for a flag and a positional argument
    std::string help;
    std::vector<std::string> choices;  ///< values worth offering
    bool closed = false;               ///< no other value is accepted
    bool positional = false, required = false, repeated = false;
    std::vector<std::string> needs, excludes;  ///< other options of the command, by name
};

struct CommandText {
    std::string name, help, footer;
    std::vector<ArgumentText> arguments;
    std::vector<CommandText> commands;
};

}  // namespace attn::app
