#include "tests/desktop/private_bus.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <stdexcept>

namespace attn::test {
namespace {

/// Allows everything; the bus starts no services itself.
constexpr const char* kConfiguration = R"(<busconfig>
  <type>session</type>
  <listen>unix:dir={}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
)";

std::string first_line(int pipe) {
    std::string line;
    for (char letter = 0; read(pipe, &letter, 1) == 1 && letter != '\n';) line += letter;
    return line;
}

}  // namespace

PrivateBus::PrivateBus() {
    const std::string file = (folder_ / "bus.conf").string();
    std::string text = kConfiguration;
    text.replace(text.find("{}"), 2, folder_.path().string());
    std::ofstream(file) << text;

    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    std::array<std::string, 4> words = {ATTN_DBUS_DAEMON, "--config-file=" + file, "--nofork", "--print-address=1"};
    std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    process_ = fork();
    if (process_ == 0) {
        // End with a crashed test, and do not keep its output pipe open.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(STDERR_FILENO);
        execv(arguments[0], arguments.data());
        _exit(127);
    }
    close(ends[1]);
    if (process_ > 0) address_ = first_line(ends[0]);
    close(ends[0]);
    if (address_.empty()) throw std::runtime_error("dbus-daemon does not start");
}

PrivateBus::~PrivateBus() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
}

}  // namespace attn::test
