#pragma once
/// Scripts by which a shell completes the command line, made of what it says of itself: commands, options, the values that they offer, and
/// files and folders where they take one.

#include <string>

#include "app/cli/command_text.hpp"

namespace attn::app {

std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

}  // namespace attn::app
