#include "app/cli/stop_signal.hpp"

namespace attn::app {
namespace {

constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

// A global, because a signal handler has no other context.
volatile sig_atomic_t received_signal = 0;

void note(int number) {
    if (received_signal == 0) received_signal = number;
    if (number != SIGINT && number != SIGTERM) return;
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
    received_signal = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        ::sigaction(kSignals[i], nullptr, &before_[i]);
        if (kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) continue;
        struct sigaction action {};
        action.sa_handler = kSignals[i] == SIGXFSZ ? SIG_IGN : note;
        ::sigemptyset(&action.sa_mask);
        // Do not let signals interrupt writes to a slow terminal.
        action.sa_flags = SA_RESTART;
        ::sigaction(kSignals[i], &action, nullptr);
    }
}

StopSignal::~StopSignal() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

int StopSignal::received() { return received_signal; }

}  // namespace attn::app
