#include "app/cli/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "app/cli/arguments.hpp"
#include "app/cli/complaint.hpp"
#include "app/cli/standard_output.hpp"
#include "app/cli/waiting_threads.hpp"
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

}  // namespace

int run_program(const char* name, int argc, char** argv, int (*run)(int argc, char** argv)) {
    let_waiting_threads_sleep(argv);
    complain_as(name);
    std::set_terminate(end_at_once);
    std::signal(SIGXFSZ, SIG_IGN);  // so that a file size limit fails the write, which is reported
    reserve_standard_streams();
    return_large_memory();
    constexpr std::size_t kMostSpare = std::size_t{16} << 20;  // more was hardly faster and raised the peak with long texts
    keep_spare_memory(kMostSpare);
    try {
        try {
            require_ieee_arithmetic();
            const int exit_code = run(argc, argv);
            flush_output();
            return exit_code;
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const ArgumentError& error) {
            complain(fmt::format("{} (see {} --help)", with_short_quotes(error.what(), argc, argv), error.command));
        } catch (const std::exception& error) {
            complain(reason(error));
        }
    } catch (const std::bad_alloc&) {
        complain_plainly("there is not enough memory");
    }
    return kExitBadInput;
}

}  // namespace attn::app
