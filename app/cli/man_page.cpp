#include "app/cli/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace attn::app {
namespace {

/// Escapes a line for roff, where hyphens become typographic ones and a leading dot or apostrophe starts a request.
std::string roff(const std::string& text) {
    std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
    for (const char letter : text) {
        if (letter == '\\') result += "\\e";
        else if (letter == '-') result += "\\-";
        else if (letter == '\'') result += "\\(aq";
        else result += letter;
    }
    return result;
}

std::string upper(std::string text) {
    for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    return text;
}

/// "Say what." -> "say what"
std::string as_subject(std::string text) {
    if (const std::size_t end = text.find(". "); end != std::string::npos) text.resize(end);
    if (text.ends_with('.')) text.pop_back();
    if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
}

/// Constraints that the parser enforces and the help may not mention.
std::string conditions(const ArgumentText& argument) {
    std::string text;
    if (argument.closed) text += fmt::format(" One of {}.", fmt::join(argument.choices, ", "));
    if (argument.required) text += " Required.";
    if (!argument.needs.empty()) text += fmt::format(" Needs {}.", fmt::join(argument.needs, ", "));
    if (!argument.excludes.empty()) text += fmt::format(" Not with {}.", fmt::join(argument.excludes, ", "));
    return text;
}

std::string man_argument(const ArgumentText& argument) {
    std::string head;
    for (const std::string& name : argument.names)
        head += (head.empty() ? "" : ", ") + ((argument.positional ? "\\fI" : "\\fB") + roff(name) + "\\fR");
    if (!argument.value.empty()) head += " \\fI" + roff(argument.value) + "\\fR";
    std::string help = argument.help + (argument.help.ends_with('.') ? "" : ".") + conditions(argument);
    return ".TP\n" + head + "\n" + roff(help) + "\n";
}

/// Every command has --help, so only the program's own options list it.
bool asks_for_help(const ArgumentText& argument) { return argument.names.back() == "--help"; }

/// Indented lines, such as examples, are kept verbatim; others are prose.
std::string man_footer(const std::string& footer) {
    std::string text;
    bool as_is = false;
    std::istringstream lines(footer);
    for (std::string line; std::getline(lines, line);) {
        const bool indented = line.starts_with(' ');
        if (text.empty() && !indented) text += ".PP\n";
        if (indented && !as_is) text += ".PP\n.RS 4\n.nf\n";
        if (!indented && as_is) text += ".fi\n.RE\n.PP\n";
        as_is = indented;
        const std::size_t begin = line.find_first_not_of(' ');
        text += begin == std::string::npos ? ".PP\n" : roff(line.substr(begin)) + "\n";
    }
    return text + (as_is ? ".fi\n.RE\n" : "");
}

/// "[OPTIONS] FILE ..."
std::string man_usage(const CommandText& command) {
    std::string usage = "[\\fIOPTIONS\\fR]";
    for (const ArgumentText& argument : command.arguments) {
        if (!argument.positional) continue;
        const std::string name = "\\fI" + roff(argument.names.front()) + "\\fR" + (argument.repeated ? " ..." : "");
        usage += argument.required ? " " + name : " [" + name + "]";
    }
    return usage;
}

/// A command without a footer inherits that of its parent.
std::string man_command(const CommandText& command, const CommandText& above, const std::string& names_above) {
    const std::string name = names_above + " " + command.name;
    std::string text = ".SS " + roff(name) + "\n" + roff(command.help) + ".\n";
    if (command.commands.empty()) text += ".PP\n\\fB" + roff(name) + "\\fR " + man_usage(command) + "\n";
    for (const ArgumentText& argument : command.arguments)
        if (!asks_for_help(argument)) text += man_argument(argument);
    if (command.footer != above.footer) text += man_footer(command.footer);
    for (const CommandText& below : command.commands) text += man_command(below, command, name);
    return text;
}

}  // namespace

std::string man_page(const CommandText& program, const std::string& version) {
    const std::string name = roff(program.name);
    std::string text = fmt::format(".TH {} 1 \"\" \"{}\" \"User Commands\"\n", upper(program.name), version);
    text += ".nh\n.ad l\n";  // no hyphenation of option names, no justification
    text += fmt::format(".SH NAME\n{} \\- {}\n", name, roff(as_subject(program.help)));
    text += fmt::format(".SH SYNOPSIS\n\\fB{0}\\fR {1}\n.br\n\\fB{0}\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n", name, man_usage(program));
    text += ".SH DESCRIPTION\n" + roff(program.help) + "\n" + man_footer(program.footer);
    text += ".SH OPTIONS\n";
    for (const ArgumentText& argument : program.arguments) text += man_argument(argument);
    text += ".SH COMMANDS\n";
    for (const CommandText& command : program.commands) text += man_command(command, program, program.name);
    return text;
}

}  // namespace attn::app
