#include "tests/cli/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

namespace attn::test {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// Replaces the forked child with the program; never returns. Only async-signal-safe calls.
[[noreturn]] void become(const std::vector<char*>& arguments, int out, int err) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

using NextInterruption = std::vector<Interruption>::const_iterator;

/// Performs the interruptions due after the lines printed so far. False if stdout should not be read any further.
bool interrupt(pid_t child, const std::string& out, NextInterruption& next, NextInterruption end) {
    const auto lines = static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n'));
    bool reads = true;
    for (; next != end && next->after_lines <= lines; ++next) {
        std::this_thread::sleep_for(next->later);
        if (next->action) next->action();
        if (next->signal == kClosePipe) reads = false;
        else ::kill(child, next->signal);
    }
    return reads;
}

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

void restore(const char* name, const std::optional<std::string>& value) {
    if (value) ::setenv(name, value->c_str(), 1);
}

}  // namespace

NoScreen::NoScreen() : display_(variable("DISPLAY")), wayland_(variable("WAYLAND_DISPLAY")) {
    ::unsetenv("DISPLAY");
    ::unsetenv("WAYLAND_DISPLAY");
}

NoScreen::~NoScreen() {
    restore("DISPLAY", display_);
    restore("WAYLAND_DISPLAY", wayland_);
}

Outcome attnscope(const std::vector<std::string>& arguments, std::chrono::seconds limit, const std::vector<Interruption>& interruptions) {
    std::vector<std::string> words{ATTNSCOPE_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::optional<NoScreen> no_screen;
    if (!arguments.empty() && arguments.front() == "train") no_screen.emplace();
    return run_program(std::move(words), limit, interruptions);
}

Outcome attnscope_dev(const std::vector<std::string>& arguments, std::chrono::seconds limit) {
    std::vector<std::string> words{ATTNSCOPE_DEV_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_program(std::move(words), limit);
}

Outcome run_program(std::vector<std::string> words, std::chrono::seconds limit, const std::vector<Interruption>& interruptions) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);

    std::array<int, 2> out{}, err{};
    if (::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) fail("pipe");
    const pid_t child = ::fork();
    if (child < 0) fail("fork");
    if (child == 0) become(pointers, out[1], err[1]);
    ::close(out[1]);
    ::close(err[1]);

    Outcome outcome;
    bool timed_out = false;
    auto next = interruptions.begin();
    const auto deadline = std::chrono::steady_clock::now() + limit;
    std::array<pollfd, 2> waiting{{{out[0], POLLIN, 0}, {err[0], POLLIN, 0}}};
    while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        if (left <= 0 || ::poll(waiting.data(), waiting.size(), static_cast<int>(left)) == 0) {
            timed_out = true;
            ::kill(child, SIGKILL);
            break;
        }
        for (std::size_t i = 0; i < waiting.size(); ++i) {
            if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
            std::array<char, 4096> buffer{};
            const ssize_t count = ::read(waiting[i].fd, buffer.data(), buffer.size());
            if (count > 0) {
                (i == 0 ? outcome.out : outcome.err).append(buffer.data(), static_cast<std::size_t>(count));
                if (interrupt(child, outcome.out, next, interruptions.end())) continue;
                ::close(std::exchange(out[0], -1));
                waiting[0].fd = -1;
            } else {
                waiting[i].fd = -1;
            }
        }
    }
    if (out[0] >= 0) ::close(out[0]);
    ::close(err[0]);

    int status = 0;
    if (::waitpid(child, &status, 0) != child) fail("waitpid");
    outcome.ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcome.exit_code = WIFEXITED(status) && !timed_out ? WEXITSTATUS(status) : -1;
    return outcome;
}

Outcome in_shell(const std::string& command, const std::string& folder, std::chrono::seconds limit) {
    const std::string set_up = "cd '" + folder +
                               "' && export HOME=\"$PWD\" && unset XDG_STATE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME"
                               " && attnscope() { '" ATTNSCOPE_BINARY "' \"$@\"; } && attnscope-dev() { '" ATTNSCOPE_DEV_BINARY
                               "' \"$@\"; } && python3() { '" ATTN_PYTHON "' \"$@\"; } && ";
    return run_program({"/bin/bash", "-c", set_up + command}, limit);
}

std::string ScratchFolder::file(const std::string& name, const std::string& contents) const {
    std::ofstream(folder_ / name, std::ios::binary) << contents;
    return path(name);
}

std::vector<std::string> ScratchFolder::names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) names.push_back(entry.path().filename().string());
    return names;
}

std::string read_bytes(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    EXPECT_TRUE(stream.good()) << path;
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace attn::test
