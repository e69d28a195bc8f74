#include "engine/ops/parallel.hpp"

#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace attn {
namespace {

/// How many of `wanted` threads, the calling one among them, can run at the same time: they are started, and end at once.
int startable_threads(int wanted) {
    std::mutex mutex;
    std::condition_variable all_started;
    bool released = false;
    std::vector<std::thread> others;
    try {
        others.reserve(static_cast<std::size_t>(wanted) - 1);
        for (int i = 1; i < wanted; ++i)
            others.emplace_back([&] {
                std::unique_lock lock(mutex);
                all_started.wait(lock, [&] { return released; });
            });
    } catch (const std::system_error&) {  // a limit of processes
    } catch (const std::bad_alloc&) {     // or of memory: those that there are will do
    }
    {
        const std::lock_guard lock(mutex);
        released = true;
    }
    all_started.notify_all();
    for (std::thread& thread : others) thread.join();
    return static_cast<int>(others.size()) + 1;
}

}  // namespace

int next_team_size() {
    // OpenMP keeps the last team's threads, and starts only those that it lacks.
    thread_local int last = 1;
    const int budget = thread_budget();
    if (budget <= 1) return 1;
    if (budget > last) {
        const int startable = startable_threads(budget);
        // One less than there could be: something else may start a thread of its own in between.
        if (startable < budget) set_thread_budget(startable - 1);
    }
    return last = thread_budget();
}

}  // namespace attn
