#include "app/session/threads/thread_priority.hpp"

#ifdef __linux__
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace attn::app {

void let_others_first() {
#ifdef __linux__
    constexpr int kLeast = 19;
    // On Linux both calls apply to the calling thread only. If the system refuses, the thread keeps its normal priority.
    const sched_param none{};
    (void)sched_setscheduler(0, SCHED_BATCH, &none);
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kLeast);
#endif
}

}  // namespace attn::app
