#pragma once
/// Independent work spread over threads; tiny work stays on the caller's.

#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace attn {

/// Below this many elementary operations a team of threads costs more than it saves.
inline constexpr std::int64_t kParallelCost = 250'000;

/// Threads that parallel work started from this thread may use.
inline int thread_budget() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/// Sets the budget of the calling thread only (the trainer and the analyst each have their own); at least 1.
inline void set_thread_budget(int threads) {
#ifdef _OPENMP
    omp_set_num_threads(threads < 1 ? 1 : threads);
#else
    (void)threads;
#endif
}

/// Calls f(i) for every i in [0, count), each of about `cost` operations; the calls must not depend on each other nor throw.
template <class F>
void parallel_for(std::int64_t count, std::int64_t cost, const F& f) {
#ifdef _OPENMP
    // Branching here instead of `omp parallel if`: even an inactive region costs more than the smallest stages.
    if (count > 1 && count * cost > kParallelCost && thread_budget() > 1 && omp_in_parallel() == 0) {
#pragma omp parallel for schedule(static)
        for (std::int64_t i = 0; i < count; ++i) f(i);
        return;
    }
#endif
    for (std::int64_t i = 0; i < count; ++i) f(i);
}

/// Calls f(first, last) for ranges that cover [0, count), at most one per thread, each a multiple of `grain` long (but the last).
template <class F>
void parallel_ranges(std::int64_t count, std::int64_t grain, std::int64_t cost, const F& f) {
    const std::int64_t grains = (count + grain - 1) / grain, threads = thread_budget();
    const std::int64_t parts = count * cost > kParallelCost ? (threads < grains ? threads : grains) : 1;
    if (parts <= 1) {
        if (count > 0) f(std::int64_t{0}, count);
        return;
    }
    parallel_for(parts, count * cost, [&](std::int64_t part) {
        const std::int64_t first = part * grains / parts * grain, last = (part + 1) * grains / parts * grain;
        f(first, last < count ? last : count);
    });
}

}  // namespace attn
