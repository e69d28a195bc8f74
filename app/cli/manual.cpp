/// attnscope man and attnscope completion: the manual page and shell completions.

#include <fmt/core.h>

#include <memory>

#include "app/cli/commands.hpp"
#include "app/cli/completion.hpp"
#include "app/cli/man_page.hpp"

namespace attn::app {

void add_man_command(CliCommand program, const std::string& version) {
    CliCommand command = program.command("man", "Print the manual page");
    command.footer("Example:\n"
                   "  attnscope man > attnscope.1 && man ./attnscope.1\n");
    command.on_run([program, version] { fmt::print("{}", man_page(program.text(), version)); });
}

void add_completion_command(CliCommand program) {
    auto shell = std::make_shared<std::string>();
    CliCommand command = program.command("completion", "Print the completion script for a shell");
    command.option("SHELL", *shell, "The shell").required().one_of({"bash", "zsh", "fish"});
    command.footer("Packages install all three. Without one:\n"
                   "  attnscope completion bash > ~/.local/share/bash-completion/completions/attnscope\n");
    command.on_run([program, shell] {
        const CommandText text = program.text();
        fmt::print("{}", *shell == "bash" ? bash_completion(text) : *shell == "zsh" ? zsh_completion(text) : fish_completion(text));
    });
}

}  // namespace attn::app
