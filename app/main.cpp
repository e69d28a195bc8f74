/// The program: window options, subcommands, and the only place where errors are reported.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "app/cli/arguments.hpp"
#include "app/cli/commands.hpp"
#include "app/cli/complaint.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/standard_output.hpp"
#include "app/cli/waiting_threads.hpp"
#include "app/cli/window.hpp"
#include "app/session/document/presets.hpp"
#include "engine/io/file_error.hpp"
#include "engine/tensor/arithmetic.hpp"
#include "engine/tensor/memory.hpp"

namespace attn::app {
namespace {

/// The message to print. A system error may come from a failed write to stdout that flush_output() has not noticed yet.
std::string reason(const std::exception& error) {
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    if (system == nullptr) return error.what();
    if (std::ferror(stdout) != 0) return std::string(kOutputLost) + ": " + system->code().message();
    if (system->code() != std::errc::resource_unavailable_try_again) return error.what();
    return "the system cannot start another thread (ulimit -u and ulimit -v show its limits)";
}

/// Shortens arguments that the parser quotes in full.
std::string with_short_quotes(std::string message, int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i], quote = escaped(argument);
        const std::size_t at = argument.size() > quote.size() ? message.find(argument) : std::string::npos;
        if (at != std::string::npos) message.replace(at, argument.size(), quote);
    }
    return message;
}

/// The terminate handler: reports out-of-memory where exceptions cannot propagate, such as in a library's destructor.
[[noreturn]] void end_at_once() {
    static std::atomic_flag begun;
    while (begun.test_and_set()) ::pause();  // another thread is already reporting
    try {
        if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        complain_plainly("there was not enough memory to continue");
        ::_exit(kExitBadInput);
    } catch (...) {
    }
    std::abort();
}

int run(int argc, char** argv) {
    require_ieee_arithmetic();
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
    add_check_command(program, exit_code);
    add_doctor_command(program, exit_code);
    add_bench_command(program, exit_code);
    add_train_command(program, exit_code);
    add_sample_command(program, exit_code);
    add_lesson_command(program, exit_code);
    add_model_command(program, exit_code);
    add_compare_weights_command(program, exit_code);
    add_tokenize_command(program, exit_code);
    add_completion_command(program);
    add_man_command(program, version);

    command_line.before_run([&](const std::string& command) {
        if (command.empty()) return;
        if (window.document.given()) throw Error("--preset, --text and --text-file must come after '" + command + "'");
        if (!window.file.empty()) throw Error("'" + window.file.string() + "' must come after '" + command + "', if it belongs to it");
    });
    try {
        if (command_line.parse(argc, argv) == CommandLine::Outcome::NoCommand) exit_code = open_window(window);
    } catch (const ArgumentError& error) {
        complain(fmt::format("{} (see {} --help)", with_short_quotes(error.what(), argc, argv), error.command));
        return kExitBadInput;
    }
    return exit_code;
}

}  // namespace
}  // namespace attn::app

int main(int argc, char** argv) {
    using namespace attn::app;
    let_waiting_threads_sleep(argv);
    std::set_terminate(end_at_once);
    std::signal(SIGXFSZ, SIG_IGN);  // so that a file size limit fails the write, which is reported
    reserve_standard_streams();
    attn::return_large_memory();
    constexpr std::size_t kMostSpare = std::size_t{16} << 20;  // more was hardly faster and raised the peak with long texts
    attn::keep_spare_memory(kMostSpare);
    try {
        try {
            const int exit_code = run(argc, argv);
            flush_output();
            return exit_code;
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& error) {
            complain(reason(error));
        }
    } catch (const std::bad_alloc&) {
        complain_plainly("there is not enough memory");
    }
    return kExitBadInput;
}
