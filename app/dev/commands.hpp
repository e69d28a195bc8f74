#pragma once
/// The commands of attnscope-dev, the program for developers. Each function adds a command to the program, as in app/cli/commands.hpp.

#include "app/cli/arguments.hpp"

namespace attn::app {

void add_bench_command(CliCommand program);
/// `exit_code` is the program's exit code, set if a file differs or cannot be read.
void add_check_command(CliCommand program, int& exit_code);

}  // namespace attn::app
