#include "app/cli/waiting_threads.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace attn::app {
namespace {

/// The path of this program; empty if something else runs it, such as the dynamic loader or valgrind, which a restart would lose.
std::filesystem::path path_of_program() {
    const char* preloaded = std::getenv("LD_PRELOAD");
    if (preloaded != nullptr && std::strstr(preloaded, "vgpreload") != nullptr) return {};
    if (::getauxval(AT_BASE) == 0) return {};  // the loader itself was started, and has no loader
    std::error_code none;
    return std::filesystem::read_symlink("/proc/self/exe", none);
}

}  // namespace

void let_waiting_threads_sleep(char** argv) {
    // GCC's OpenMP; others ignore it. 1000 rounds: twenty times as many were no faster alone, and slower beside a busy program.
    constexpr const char* kVariable = "GOMP_SPINCOUNT";
    constexpr const char* kRounds = "1000";
    if (const char* rounds = std::getenv(kVariable); rounds != nullptr) {
        if (std::string_view(rounds) == kRounds) ::unsetenv(kVariable);  // it has been read, and is not for programs started from here
        return;
    }
    if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
    // By its path, because the last part of that becomes the process's name.
    const std::filesystem::path program = path_of_program();
    if (!program.empty() && ::setenv(kVariable, kRounds, 0) == 0) ::execv(program.c_str(), argv);
    // Where that fails, such as without /proc, everything works, only slower beside others.
}

}  // namespace attn::app
