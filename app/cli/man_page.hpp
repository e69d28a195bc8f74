#pragma once
/// The manual page, made of what the command line says of itself.

#include <string>

#include "app/cli/command_text.hpp"

namespace attn::app {

/// In the language of man(7). `version` is the program's name and version.
std::string man_page(const CommandText& program, const std::string& version);

}  // namespace attn::app
