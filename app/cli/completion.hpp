#pragma once
/// Generates shell completion scripts from the description of the command line: commands, options, offered values, and files or folders
/// where they apply.

#include <string>

#include "app/cli/command_text.hpp"

namespace attn::app {

std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

}  // namespace attn::app
