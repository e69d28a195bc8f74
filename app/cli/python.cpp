/// attnscope python: the Python module that records attention as it runs in other programs.

#include <fmt/core.h>

#include "app/cli/commands.hpp"
#include "assets/embedded.hpp"

namespace attn::app {

void add_python_command(CliCommand program) {
    CliCommand command = program.command("python", "Print attnscope.py, which records the attention of PyTorch code");
    command.footer("Packages install it as the module attnscope. Without one:\n"
                   "  attnscope python > attnscope.py\n");
    command.on_run([] { fmt::print("{}", find_embedded(embedded_assets(), "python/attnscope.py")->bytes); });
}

}  // namespace attn::app
