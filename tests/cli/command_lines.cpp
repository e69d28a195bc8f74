#include "tests/cli/command_lines.hpp"

#include <regex>
#include <sstream>

namespace attn::test {
namespace {

constexpr const char* kIndent = "    ";

std::string single_spaced(const std::string& text) {
    std::istringstream words(text);
    std::string result;
    for (std::string word; words >> word;) result += (result.empty() ? "" : " ") + word;
    return result;
}

bool runs_the_program(const std::string& command) {
    if (command.starts_with("import ")) return false;  // Python
    return std::regex_search(command, std::regex(R"((^|\s)(attnscope|attnscope-dev|\./dev)(\s|$))"));
}

bool names_program(const std::string& command) { return command.starts_with("attnscope ") || command.starts_with("attnscope-dev "); }

std::string without_prompt(const std::string& command) { return command.starts_with("$ ") ? command.substr(2) : command; }

/// The texts between backticks.
std::vector<std::string> codes_in(const std::string& text) {
    std::vector<std::string> codes;
    static const std::regex kCode("`([^`]+)`");
    for (std::sregex_iterator at(text.begin(), text.end(), kCode), end; at != end; ++at) codes.push_back(single_spaced((*at)[1]));
    return codes;
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) { all.insert(all.end(), more.begin(), more.end()); }

std::vector<std::string> commands_in_prose(const std::string& text) {
    std::vector<std::string> commands;
    for (const std::string& code : codes_in(text))
        if (names_program(code) || code.starts_with("./dev ")) commands.push_back(code);
    return commands;
}

/// "| `attnscope trace`, `lesson NAME` or `--json` | does |" -> "attnscope trace", "attnscope lesson NAME"
std::vector<std::string> commands_in_row(const std::string& row) {
    const std::size_t column = row.find(" | ", 1);
    std::vector<std::string> commands;
    for (const std::string& code : codes_in(row.substr(0, column))) {
        const bool part = code.starts_with("-") || code.starts_with(".");  // belongs to the previous command
        if (!part) commands.push_back(names_program(code) ? code : "attnscope " + code);
    }
    append(commands, commands_in_prose(column == std::string::npos ? "" : row.substr(column)));
    return commands;
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        if (line.ends_with('\r')) line.pop_back();  // tables use CRLF line ends as in RFC 4180
        lines.push_back(line);
    }
    return lines;
}

std::vector<std::string> commands_in_markdown(const std::string& text) {
    std::vector<std::string> commands;
    std::string prose;
    bool table = false;
    for (const std::string& line : lines_of(text)) {
        const bool row = line.starts_with("|");
        table = row && (table || line.starts_with("| command "));
        if (line.starts_with(kIndent)) {
            const std::string command = without_prompt(single_spaced(line));
            if (runs_the_program(command)) commands.push_back(command);
        } else if (table) {
            append(commands, commands_in_row(line));
        } else {
            prose += line + "\n";
        }
    }
    append(commands, commands_in_prose(prose));
    return commands;
}

std::vector<std::string> commands_in_help(const std::string& text) {
    std::vector<std::string> commands;
    for (const std::string& line : lines_of(text))
        if (line.starts_with(" ") && names_program(single_spaced(line))) commands.push_back(single_spaced(line));
    return commands;
}

std::vector<std::string> output_in_markdown(const std::string& text, const std::string& command) {
    std::vector<std::string> output;
    bool found = false;
    for (const std::string& line : lines_of(text)) {
        if (found && !line.starts_with(kIndent)) break;
        if (found) output.push_back(line.substr(std::string(kIndent).size()));
        found = found || without_prompt(single_spaced(line)) == command;
    }
    return output;
}

}  // namespace attn::test
