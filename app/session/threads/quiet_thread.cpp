#include "app/session/threads/quiet_thread.hpp"

#include <utility>

#include "app/session/threads/scarce_memory.hpp"
#include "app/session/threads/thread_priority.hpp"

namespace attn::app {

QuietThread::QuietThread() {
    worker_.send([](const std::stop_token&) { let_others_first(); });
}

void QuietThread::report(std::size_t done, std::size_t total, std::shared_ptr<const void> so_far) {
    {
        const std::lock_guard lock(mutex_);
        news_ = true;
        done_ = done;
        total_ = total;
        so_far_.swap(so_far);  // the old value is destroyed after the lock is released
    }
    heard_.notify_all();
}

void QuietThread::run(const std::function<void(const Progress&)>& compute, const Progress& told) {
    {
        const std::lock_guard lock(mutex_);
        over_ = news_ = false;
    }
    const auto job = [this, &compute](const std::stop_token&) {
        compute(
            [this](std::size_t done, std::size_t total, std::shared_ptr<const void> so_far) { report(done, total, std::move(so_far)); });
        const std::lock_guard lock(mutex_);
        over_ = true;
        heard_.notify_all();
    };
    when_memory_allows([&] { worker_.send(job); });
    std::unique_lock lock(mutex_);
    while (true) {
        heard_.wait(lock, [this] { return news_ || over_; });
        if (!std::exchange(news_, false)) return;
        const std::size_t done = done_, total = total_;
        std::shared_ptr<const void> so_far = std::exchange(so_far_, nullptr);
        lock.unlock();
        told(done, total, std::move(so_far));
        lock.lock();
    }
}

}  // namespace attn::app
