#include "app/cli/waiting_threads.hpp"

namespace attn::app {

void let_waiting_threads_sleep(char**) {}  // there is no OpenMP

}  // namespace attn::app
