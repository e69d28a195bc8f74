#include <fmt/format.h>

#include "app/cli/completion.hpp"
#include "app/cli/completion_parts.hpp"

namespace attn::app {
namespace {

// The script scans the words typed so far: `place` is the command, `option` the option that expects a value.
constexpr const char* kBashScript = R"(# Completes {0} in bash. Made by: {0} completion bash
_{0}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} place="" option="" word at
    [[ $current == = ]] && current=""
    for ((at = 1; at < COMP_CWORD; ++at)); do
        word=${{COMP_WORDS[at]}}
        [[ $word == = ]] && continue
        if [[ -n $option ]]; then
            option=""
            continue
        fi
        case "$place $word" in
{1}        esac
    done
    local words="" options="" names=""
    case "$place $option" in
{2}    esac
    [[ -n $options && ($current == -* || -z $words$names) ]] && words=$options names=""
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [[ -n $names ]] || return 0
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -A "$names" -- "$current")
}}
complete -F _{0} {0}
)";

std::string bash_quoted(const std::string& text) { return in_quotes(text, "'\\''"); }

/// Such as: words='a b' names=file
std::string bash_values(const std::vector<std::string>& words, FileWanted file) {
    std::string text;
    if (!words.empty()) text += " words=" + bash_quoted(fmt::format("{}", fmt::join(words, " ")));
    if (file != FileWanted::None) text += file == FileWanted::File ? " names=file" : " names=directory";
    return text;
}

/// The transitions from typed words to commands, and the options that expect a value.
std::string bash_steps(const std::vector<PlacedCommand>& commands) {
    std::string text;
    for (const PlacedCommand& at : commands) {
        for (const CommandText& below : at.command->commands)
            text += fmt::format("            {}) place={} ;;\n", bash_quoted(at.place + " " + below.name),
                                bash_quoted(at.place.empty() ? below.name : at.place + " " + below.name));
        for (const ArgumentText& argument : at.command->arguments) {
            if (argument.value.empty()) continue;
            for (const std::string& name : argument.names)
                text += fmt::format("            {}) option={} ;;\n", bash_quoted(at.place + " " + name), name);
        }
    }
    return text;
}

/// The offers for each state: a command's words, or the values of one of its options.
std::string bash_offers(const std::vector<PlacedCommand>& commands) {
    std::string text;
    for (const PlacedCommand& at : commands) {
        std::vector<std::string> options, words;
        FileWanted file = FileWanted::None;
        for (const CommandText& below : at.command->commands) words.push_back(below.name);
        for (const ArgumentText& argument : at.command->arguments) {
            if (argument.positional) {
                words.insert(words.end(), argument.choices.begin(), argument.choices.end());
                file = file_wanted(argument);
                continue;
            }
            options.insert(options.end(), argument.names.begin(), argument.names.end());
            const std::string values = bash_values(argument.choices, file_wanted(argument));
            if (values.empty()) continue;
            for (const std::string& name : argument.names)
                text += fmt::format("        {}){} ;;\n", bash_quoted(at.place + " " + name), values);
        }
        text += fmt::format("        {}) options={}{} ;;\n", bash_quoted(at.place + " "),
                            bash_quoted(fmt::format("{}", fmt::join(options, " "))), bash_values(words, file));
    }
    return text;
}

}  // namespace

std::string bash_completion(const CommandText& program) {
    const std::vector<PlacedCommand> commands = placed_commands(program);
    return fmt::format(fmt::runtime(kBashScript), program.name, bash_steps(commands), bash_offers(commands));
}

}  // namespace attn::app
