#pragma once
/// A background thread of the lowest priority.

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

#include "app/session/threads/worker.hpp"

namespace attn::app {

/// It runs only when no other thread of the program is runnable. It must therefore only compute and never hold a lock that others need: it
/// could be preempted while holding it and block the window for as long as the processor is busy.
class QuietThread {
public:
    /// `so_far`: the partial result; null if it cannot be shown.
    using Progress = std::function<void(std::size_t done, std::size_t total, std::shared_ptr<const void> so_far)>;
    QuietThread();
    QuietThread(const QuietThread&) = delete;
    QuietThread& operator=(const QuietThread&) = delete;

    /// Runs `compute`, which must not throw, on the background thread and waits for it. Progress reports are forwarded to `told` on the
    /// calling thread; some may be skipped. Only one thread may call this.
    void run(const std::function<void(const Progress&)>& compute, const Progress& told);

private:
    void report(std::size_t done, std::size_t total, std::shared_ptr<const void> so_far);

    std::mutex mutex_;  // guards the members up to so_far_
    std::condition_variable heard_;
    bool news_ = false, over_ = true;
    std::size_t done_ = 0, total_ = 0;
    std::shared_ptr<const void> so_far_;

    Worker worker_;  // last, because it uses the members above
};

}  // namespace attn::app
