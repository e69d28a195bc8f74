#include "app/cli/waiting_threads.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace attn::app {

void let_waiting_threads_sleep(char** argv) {
    // GCC's OpenMP; others ignore it. 1000 rounds: twenty times as many were no faster alone, and slower beside a busy program.
    constexpr const char* kVariable = "GOMP_SPINCOUNT";
    constexpr const char* kRounds = "1000";
    if (std::getenv(kVariable) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
    // By its path, because the last part of that becomes the process's name.
    std::error_code none;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
    if (!none && ::setenv(kVariable, kRounds, 0) == 0) ::execv(program.c_str(), argv);
    // Where that fails, such as without /proc, everything works, only slower beside others.
}

}  // namespace attn::app
