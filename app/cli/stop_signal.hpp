#pragma once
/// Ctrl-C and termination as a wish that the work looks at between two steps.

#include <signal.h>

namespace attn::app {

/// While it lives the first SIGINT or SIGTERM is only noted; a second one, of either kind, ends the program at once.
/// One at a time.
class StopSignal {
public:
    StopSignal();
    ~StopSignal();
    StopSignal(const StopSignal&) = delete;
    StopSignal& operator=(const StopSignal&) = delete;

    /// The signal that came, 0 for none.
    static int received();

private:
    struct sigaction interrupt_ {
    }, terminate_{};
};

}  // namespace attn::app
