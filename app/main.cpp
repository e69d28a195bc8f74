/// The program: window options and subcommands.

#include <fmt/format.h>

#include <string>

#include "app/cli/commands.hpp"
#include "app/cli/program.hpp"
#include "app/cli/window.hpp"
#include "app/session/document/presets.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

int run(int argc, char** argv) {
    const std::string version = "attnscope " ATTNSCOPE_VERSION;
    CommandLine command_line("attnscope", version,
                             "See every number of a transformer's attention. Without a command a window opens on a worked example.");
    CliCommand program = command_line.program();
    program.footer("Worked examples: " + fmt::format("{}", fmt::join(preset_names(), ", ")) +
                   ".\nBad input ends with one line on stderr and exit code 2.");

    int exit_code = kExitOk;
    WindowStart window;
    add_window_options(program, window);
    add_trace_command(program, exit_code);
    add_export_command(program, exit_code);
    add_snippet_command(program, exit_code);
    add_render_command(program, exit_code);
    add_doctor_command(program, exit_code);
    add_train_command(program, exit_code);
    add_sample_command(program, exit_code);
    add_lesson_command(program, exit_code);
    add_model_command(program, exit_code);
    add_compare_weights_command(program, exit_code);
    add_tokenize_command(program, exit_code);
    add_recording_command(program, exit_code);
    add_python_command(program);
    add_completion_command(program);
    add_man_command(program, version);

    command_line.before_run([&](const std::string& command) {
        if (command.empty()) return;
        if (window.document.given()) throw Error("--preset, --text and --text-file must come after '" + command + "'");
        if (!window.file.empty()) throw Error("'" + window.file.string() + "' must come after '" + command + "', if it belongs to it");
    });
    if (command_line.parse(argc, argv) == CommandLine::Outcome::NoCommand) exit_code = open_window(window);
    return exit_code;
}

}  // namespace
}  // namespace attn::app

int main(int argc, char** argv) { return attn::app::run_program("attnscope", argc, argv, attn::app::run); }
