#pragma once
/// Spreads independent work over threads; tiny work stays on the calling thread.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace attn {

/// With fewer elementary operations than this, a team of threads costs more than it saves.
inline constexpr std::int64_t kParallelCost = 250'000;
/// Operations that justify splitting off a part, which an idle thread can then take.
inline constexpr std::int64_t kPartCost = 4'000'000;
inline constexpr std::int64_t kMostPartsOfThread = 4;

/// The maximum size of a team, whatever OMP_NUM_THREADS or an option says.
inline constexpr int kMostThreads = 256;

/// How many threads parallel work started from this thread may use, at most kMostThreads; 1 inside a parallel region.
inline int thread_budget() {
#ifdef _OPENMP
    return omp_in_parallel() != 0 ? 1 : std::clamp(omp_get_max_threads(), 1, kMostThreads);
#else
    return 1;
#endif
}

/// How many processors this process may run on.
inline int processor_count() {
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

/// Sets the budget of the calling thread only (every worker has its own), clamped to [1, kMostThreads].
inline void set_thread_budget(int threads) {
#ifdef _OPENMP
    omp_set_num_threads(std::clamp(threads, 1, kMostThreads));
#else
    (void)threads;
#endif
}

/// Sets the calling thread's budget for the lifetime of the object.
class ThreadScope {
public:
    explicit ThreadScope(int threads) : before_(thread_budget()) { set_thread_budget(threads); }
    ~ThreadScope() { set_thread_budget(before_); }
    ThreadScope(const ThreadScope&) = delete;
    ThreadScope& operator=(const ThreadScope&) = delete;

private:
    int before_;
};

/// Size of the calling thread's next team: its budget, or what the system allows, which then becomes the budget. Must be called before
/// every parallel region, because OpenMP terminates the program if it cannot start a thread.
int next_team_size();

/// Holds a team's first exception for the thread that started it, because no exception may leave a parallel region.
class TeamFailure {
public:
    template <class F>
    void keep(const F& f) noexcept {
        try {
            f();
        } catch (...) {
            if (!failed_.test_and_set()) first_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (first_ != nullptr) std::rethrow_exception(first_);
    }

private:
    std::atomic_flag failed_;
    std::exception_ptr first_;
};

/// Calls f(i) for every i in [0, count), each about `cost` operations; the calls must be independent. Rethrows the first exception once all
/// threads are done; it is unspecified which of the other calls were made.
template <class F>
void parallel_for(std::int64_t count, [[maybe_unused]] std::int64_t cost, const F& f) {
#ifdef _OPENMP
    // An `if` here rather than in the pragma: even an inactive region costs more than the smallest stages.
    const bool worth_it = count > 1 && count * cost > kParallelCost;
    if (const int threads = worth_it ? next_team_size() : 1; threads > 1) {
        // Every thread has a stretch of its own, so that it touches the same memory each time and what it takes next lies beside what it
        // has. When it is done it helps the others, because processors of a shared machine are rarely equally fast.
        const std::int64_t part = std::max<std::int64_t>(count / (8 * threads), 1);
        std::array<std::atomic<std::int64_t>, kMostThreads> taken{};  // of each stretch
        TeamFailure failure;
#pragma omp parallel num_threads(threads)
        failure.keep([&] {
            const std::int64_t team = omp_get_num_threads(), own = omp_get_thread_num();
            for (std::int64_t turn = 0; turn < team; ++turn) {
                const std::int64_t stretch = (own + turn) % team, first = stretch * count / team, last = (stretch + 1) * count / team;
                while (true) {
                    const std::int64_t begin = first + taken[static_cast<std::size_t>(stretch)].fetch_add(part, std::memory_order_relaxed);
                    for (std::int64_t i = begin; i < begin + part && i < last; ++i) f(i);
                    if (begin + part >= last) break;
                }
            }
        });
        failure.rethrow();
        return;
    }
#endif
    for (std::int64_t i = 0; i < count; ++i) f(i);
}

struct Range {
    std::int64_t first, last;
};

/// Part number `part` when [0, count) is split into `parts` at multiples of `grain`.
inline Range range_of_part(std::int64_t count, std::int64_t grain, std::int64_t part, std::int64_t parts) {
    const std::int64_t grains = (count + grain - 1) / grain;
    return {part * grains / parts * grain, std::min(count, (part + 1) * grains / parts * grain)};
}

/// Calls f(first, last) for ranges that cover [0, count), one or a few per thread; all but the last are a multiple of `grain` long. `cost`
/// is the number of operations per element.
template <class F>
void parallel_ranges(std::int64_t count, std::int64_t grain, std::int64_t cost, const F& f) {
    const std::int64_t grains = (count + grain - 1) / grain, threads = thread_budget();
    std::int64_t parts = 1;
    if (threads > 1 && count * cost > kParallelCost)
        parts = std::min(grains, threads * std::clamp<std::int64_t>(count * cost / (threads * kPartCost), 1, kMostPartsOfThread));
    if (parts <= 1) {
        if (count > 0) f(std::int64_t{0}, count);
        return;
    }
    parallel_for(parts, count * cost, [&](std::int64_t part) {
        const Range range = range_of_part(count, grain, part, parts);
        f(range.first, range.last);
    });
}

}  // namespace attn
