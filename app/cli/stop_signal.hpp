#pragma once
/// Turns Ctrl-C, termination, a closed terminal and a closed pipe into a stop request that long work polls between steps.

#include <signal.h>

#include <array>

namespace attn::app {

/// During its lifetime the first SIGINT, SIGTERM, SIGHUP or SIGPIPE is only recorded. A second SIGINT or SIGTERM terminates the program at
/// once; SIGHUP and SIGPIPE never do, since systems send them repeatedly and along with others. An ignored SIGHUP (nohup) stays ignored.
/// Exceeding the file size limit (SIGXFSZ) only makes that write fail. At most one instance at a time.
class StopSignal {
public:
    StopSignal();
    ~StopSignal();
    StopSignal(const StopSignal&) = delete;
    StopSignal& operator=(const StopSignal&) = delete;

    /// The first signal received; 0 for none.
    static int received();

private:
    std::array<struct sigaction, 5> before_{};
};

}  // namespace attn::app
