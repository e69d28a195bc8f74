#include "app/cli/standard_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "engine/tensor/error.hpp"

namespace attn::app {

void reserve_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDONLY);
}

void flush_output() {
    const bool failed_before = std::ferror(stdout) != 0;
    errno = 0;
    if (std::fflush(stdout) == 0 && !failed_before) return;
    throw Error(kOutputLost + (errno == 0 ? "" : ": " + std::generic_category().message(errno)));
}

}  // namespace attn::app
