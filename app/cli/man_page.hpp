#pragma once
/// Generates the manual page from the description of the command line.

#include <string>

#include "app/cli/command_text.hpp"

namespace attn::app {

/// In man(7) format. `version`: the program's name and version.
std::string man_page(const CommandText& program, const std::string& version);

}  // namespace attn::app
