#pragma once
/// Ctrl-C, termination, a closed terminal and a closed pipe as a wish that the work looks at between two steps.

#include <signal.h>

#include <array>

namespace attn::app {

/// While it lives the first SIGINT, SIGTERM, SIGHUP or SIGPIPE is only noted. A second SIGINT or SIGTERM ends the program at once;
/// SIGHUP and SIGPIPE never do, as systems send them along with others, and more than once. A SIGHUP that was ignored (nohup) stays so.
/// Writing beyond a limit on the size of files (SIGXFSZ) is an error of that write alone. One at a time.
class StopSignal {
public:
    StopSignal();
    ~StopSignal();
    StopSignal(const StopSignal&) = delete;
    StopSignal& operator=(const StopSignal&) = delete;

    /// The signal that came first, 0 for none.
    static int received();

private:
    std::array<struct sigaction, 5> before_{};
};

}  // namespace attn::app
