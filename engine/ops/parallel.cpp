#include "engine/ops/parallel.hpp"

#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace attn {
namespace {

/// How many of `wanted` threads, including the calling one, can run at the same time. Found by starting them; they end at once.
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
    } catch (const std::system_error&) {  // the limit on processes is reached
    } catch (const std::bad_alloc&) {     // or the limit on memory: use the threads that did start
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
    // OpenMP keeps the threads of the last team and only starts the missing ones.
    thread_local int last = 1;
    const int budget = thread_budget();
    if (budget <= 1) return 1;
    if (budget > last) {
        const int startable = startable_threads(budget);
        // One fewer than possible, because something else may start a thread in the meantime.
        if (startable < budget) set_thread_budget(startable - 1);
    }
    return last = thread_budget();
}

}  // namespace attn
