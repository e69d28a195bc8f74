#include "app/cli/stop_signal.hpp"

namespace attn::app {
namespace {

// A handler can reach nothing else.
volatile sig_atomic_t received_signal = 0;

void note(int number) {
    received_signal = number;
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
    received_signal = 0;
    struct sigaction action {};
    action.sa_handler = note;
    ::sigemptyset(&action.sa_mask);
    // Writing to a slow terminal is not to fail because of it.
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, &interrupt_);
    ::sigaction(SIGTERM, &action, &terminate_);
}

StopSignal::~StopSignal() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
}

int StopSignal::received() { return received_signal; }

}  // namespace attn::app
