#pragma once
/// Extracts the command lines shown in documents and help texts.

#include <string>
#include <vector>

namespace attn::test {

/// Splits into lines, without line ends.
std::vector<std::string> lines_of(const std::string& text);

/// Commands in Markdown: lines of code blocks that run attnscope, attnscope-dev or ./dev, likewise between backticks in running text (also
/// across line breaks), and all code in the first column of tables headed "command", with a missing "attnscope" added. White space is
/// collapsed, and a leading "$ " is removed.
std::vector<std::string> commands_in_markdown(const std::string& text);

/// Commands in a help text: indented lines that start with attnscope or attnscope-dev.
std::vector<std::string> commands_in_help(const std::string& text);

/// The lines after this command in its code block, unindented.
std::vector<std::string> output_in_markdown(const std::string& text, const std::string& command);

}  // namespace attn::test
