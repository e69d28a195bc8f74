/// attnscope-dev: how fast and how right attnscope's numbers are. For developers; packages do not contain it.

#include "app/cli/program.hpp"
#include "app/dev/commands.hpp"

namespace attn::app {
namespace {

int run_developers_command(int argc, char** argv) {
    CommandLine command_line("attnscope-dev", "attnscope-dev " ATTNSCOPE_VERSION, "Measure attnscope and check its numbers.");
    CliCommand program = command_line.program();
    program.require_command();
    int exit_code = kExitOk;
    add_check_command(program, exit_code);
    add_bench_command(program);
    command_line.parse(argc, argv);
    return exit_code;
}

}  // namespace
}  // namespace attn::app

int main(int argc, char** argv) { return attn::app::run_program("attnscope-dev", argc, argv, attn::app::run_developers_command); }
