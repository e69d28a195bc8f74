#pragma once
/// What a program does around its commands.

namespace attn::app {

/// Prepares the process, runs `run`, which parses and runs the command line, and returns the exit code. The only place where errors are
/// reported: as one line on stderr that begins with `name`, which must be a literal.
int run_program(const char* name, int argc, char** argv, int (*run)(int argc, char** argv));

}  // namespace attn::app
