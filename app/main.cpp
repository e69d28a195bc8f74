/// The program: options of the window, subcommands, and the one place where every error ends.

#include <CLI/CLI.hpp>
#include <iostream>
#include <new>
#include <system_error>

#include "app/cli/commands.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/window.hpp"
#include "engine/io/file_error.hpp"
#include "engine/tensor/arithmetic.hpp"

namespace attn::app {
namespace {

/// Messages may quote what was typed or read; whatever that was, it stays one line.
void complain(const std::string& message) { std::cerr << "attnscope: " << escaped(message, 0) << '\n'; }

int run(int argc, char** argv) {
    require_ieee_arithmetic();
    CLI::App program("See every number of a transformer's attention. Without a command a window opens on a worked example.", "attnscope");
    program.set_version_flag("--version", "attnscope " ATTNSCOPE_VERSION);
    program.require_subcommand(0, 1);
    program.get_formatter()->column_width(34);
    program.footer("Worked examples: " + preset_names() + "\nBad input ends with one line on stderr and exit code 2.");

    int exit_code = kExitOk;
    WindowStart window;
    add_window_options(program, window);
    add_trace_command(program, exit_code);
    add_export_command(program, exit_code);
    add_snippet_command(program, exit_code);
    add_render_command(program, exit_code);
    add_check_command(program, exit_code);
    add_doctor_command(program, exit_code);
    add_bench_command(program, exit_code);
    add_train_command(program, exit_code);
    add_sample_command(program, exit_code);
    add_lesson_command(program, exit_code);

    program.parse_complete_callback([&] {
        const auto commands = program.get_subcommands();
        if (!commands.empty() && window.document.given())
            throw Error("--preset, --text and --text-file have to come after '" + commands.front()->get_name() + "'");
        if (!commands.empty() && !window.file.empty())
            throw Error("'" + window.file.string() + "' has to come after '" + commands.front()->get_name() + "', if it belongs to it");
    });

    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& request) {  // --help and --version
        return program.exit(request);
    } catch (const CLI::ParseError& error) {
        complain(std::string(error.what()) + " (attnscope --help lists what there is)");
        return kExitBadInput;
    }
    if (program.get_subcommands().empty()) open_window(window);
    return exit_code;
}

}  // namespace
}  // namespace attn::app

int main(int argc, char** argv) {
    try {
        return attn::app::run(argc, argv);
    } catch (const std::bad_alloc&) {
        attn::app::complain("there is not enough memory");
    } catch (const std::system_error& error) {
        const bool thread = error.code() == std::errc::resource_unavailable_try_again;
        attn::app::complain(thread ? "the system refuses to start another thread (ulimit -u and ulimit -v show its limits)" : error.what());
    } catch (const std::exception& error) {
        attn::app::complain(error.what());
    }
    return attn::app::kExitBadInput;
}
