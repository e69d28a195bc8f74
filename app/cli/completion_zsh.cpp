#include <fmt/format.h>

#include <algorithm>

#include "app/cli/completion.hpp"
#include "app/cli/completion_parts.hpp"

namespace attn::app {
namespace {

constexpr const char* kIndent = "        ";

/// Escapes the characters that separate the parts of an _arguments specification.
std::string zsh_escaped(const std::string& text) {
    std::string result;
    for (const char letter : text) {
        if (letter == ':' || letter == '[' || letter == ']' || letter == '\\') result += '\\';
        result += letter;
    }
    return result;
}

std::string zsh_quoted(const std::string& text) { return in_quotes(text, "'\\''"); }

/// Such as ":NAME:(a b)" or ":FILE:_files".
std::string zsh_value(const std::string& name, const ArgumentText& argument) {
    const std::string head = ":" + zsh_escaped(name) + ":";
    if (!argument.choices.empty()) return head + fmt::format("({})", fmt::join(argument.choices, " "));
    switch (file_wanted(argument)) {
    case FileWanted::File:
        return head + "_files";
    case FileWanted::Folder:
        return head + "_files -/";
    case FileWanted::None:
        break;
    }
    return head + " ";
}

std::string zsh_function(const std::string& program, const std::string& place) {
    std::string name = "_" + program + (place.empty() ? "" : "_" + place);
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
}

std::string zsh_arguments(const CommandText& command) {
    std::string text;
    for (const ArgumentText& argument : command.arguments) {
        if (argument.positional) {
            // The program's own positional argument takes the same place as a command: see zsh_branches().
            if (command.commands.empty())
                text += " \\\n" + std::string(kIndent) +
                        zsh_quoted((argument.repeated ? "*" : "") + zsh_value(argument.names.front(), argument));
            continue;
        }
        for (const std::string& name : argument.names) {
            const std::string value = argument.value.empty() ? "" : zsh_value(argument.value, argument);
            text += " \\\n" + std::string(kIndent) +
                    zsh_quoted((argument.repeated ? "*" : "") + name + "[" + zsh_escaped(short_help(argument.help)) + "]" + value);
        }
    }
    return text;
}

/// A command with subcommands: the first word selects one, whose function completes the rest.
std::string zsh_branches(const std::string& program, const PlacedCommand& at) {
    const auto& own = at.command->arguments;
    const bool file = std::any_of(own.begin(), own.end(), [](const ArgumentText& argument) { return argument.positional; });
    std::string text = "    case $state in\n    command)\n        local -a commands=(\n";
    for (const CommandText& below : at.command->commands)
        text += fmt::format("            {}\n", zsh_quoted(zsh_escaped(below.name) + ":" + short_help(below.help)));
    text += fmt::format("        )\n        _describe command commands\n{}        ;;\n    rest)\n        case $line[1] in\n",
                        file ? "        _files\n" : "");
    for (const CommandText& below : at.command->commands)
        text += fmt::format("        {}) {} ;;\n", below.name,
                            zsh_function(program, at.place.empty() ? below.name : at.place + " " + below.name));
    return text + "        esac\n        ;;\n    esac\n";
}

}  // namespace

std::string zsh_completion(const CommandText& program) {
    std::string text = fmt::format("#compdef {0}\n# Completes {0} in zsh. Made by: {0} completion zsh\n", program.name);
    for (const PlacedCommand& at : placed_commands(program)) {
        const bool branches = !at.command->commands.empty();
        text += zsh_function(program.name, at.place) + "() {\n";
        if (branches) text += "    local -a line\n    local state\n";
        text += std::string("    _arguments ") + (branches ? "-C" : "-S") + zsh_arguments(*at.command);
        if (branches) text += " \\\n" + std::string(kIndent) + "'1: :->command' \\\n" + kIndent + "'*:: :->rest'";
        text += "\n" + (branches ? zsh_branches(program.name, at) : "") + "}\n";
    }
    return text + fmt::format("_{} \"$@\"\n", program.name);
}

}  // namespace attn::app
