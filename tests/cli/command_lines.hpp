#pragma once
/// The command lines that the program's texts show to their readers.

#include <string>
#include <vector>

namespace attn::test {

/// Without their line ends.
std::vector<std::string> lines_of(const std::string& text);

/// In Markdown: lines of code blocks that run attnscope or ./dev, the same between backticks in running text (also across the end of a
/// line), and every code of the first column of a table whose heading is "command", with "attnscope" before it where it is left out.
/// White space is one space; a "$ " before the command is left out.
std::vector<std::string> commands_in_markdown(const std::string& text);

/// In a help text: lines that begin with spaces and attnscope.
std::vector<std::string> commands_in_help(const std::string& text);

/// The lines of the code block that follow the one with this command, without their indentation.
std::vector<std::string> output_in_markdown(const std::string& text, const std::string& command);

}  // namespace attn::test
