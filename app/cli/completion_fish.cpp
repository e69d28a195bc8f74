#include <fmt/format.h>

#include "app/cli/completion.hpp"
#include "app/cli/completion_parts.hpp"

namespace attn::app {
namespace {

// The script scans the words typed so far: `place` is the command, `waits` says whether an option's value comes next.
constexpr const char* kFishBegin = R"(# Completes {0} in fish. Made by: {0} completion fish
function __{0}_at --argument-names wanted
    set -l place ''
    set -l waits no
    set -l words (commandline -opc)
    for word in $words[2..]
        if test $waits = yes
            set waits no
            continue
        end
        switch "$place $word"
{1}        end
    end
    test "$place" = "$wanted"
end
complete -c {0} -f
)";

std::string fish_quoted(const std::string& text) {
    std::string escaped;
    for (const char letter : text) escaped += letter == '\\' ? std::string("\\\\") : std::string(1, letter);
    return in_quotes(escaped, "\\'");
}

std::string fish_steps(const std::vector<PlacedCommand>& commands) {
    std::string text;
    for (const PlacedCommand& at : commands) {
        for (const CommandText& below : at.command->commands)
            text += fmt::format("            case {}\n                set place {}\n", fish_quoted(at.place + " " + below.name),
                                fish_quoted(at.place.empty() ? below.name : at.place + " " + below.name));
        for (const ArgumentText& argument : at.command->arguments) {
            if (argument.value.empty()) continue;
            for (const std::string& name : argument.names)
                text += fmt::format("            case {}\n                set waits yes\n", fish_quoted(at.place + " " + name));
        }
    }
    return text;
}

/// Such as: -l preset -x -a 'a b'
std::string fish_argument(const ArgumentText& argument) {
    std::string text;
    if (!argument.positional)
        for (const std::string& name : argument.names) text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    const bool files = file_wanted(argument) != FileWanted::None;
    if (files) text += argument.positional ? " -F" : " -r -F";
    else if (!argument.value.empty()) text += " -x";
    if (!argument.choices.empty()) text += " -a " + fish_quoted(fmt::format("{}", fmt::join(argument.choices, " ")));
    if (!argument.positional) text += " -d " + fish_quoted(short_help(argument.help));
    return text;
}

}  // namespace

std::string fish_completion(const CommandText& program) {
    const std::vector<PlacedCommand> commands = placed_commands(program);
    std::string text = fmt::format(fmt::runtime(kFishBegin), program.name, fish_steps(commands));
    for (const PlacedCommand& at : commands) {
        const std::string head =
            fmt::format("complete -c {} -n {}", program.name, fish_quoted("__" + program.name + "_at '" + at.place + "'"));
        for (const CommandText& below : at.command->commands)
            text += head + " -a " + below.name + " -d " + fish_quoted(short_help(below.help)) + "\n";
        for (const ArgumentText& argument : at.command->arguments) text += head + fish_argument(argument) + "\n";
    }
    return text;
}

}  // namespace attn::app
