#include "app/session/facets/quiet_thread.hpp"

#include <utility>

#include "app/session/facets/thread_priority.hpp"

namespace attn::app {

QuietThread::QuietThread() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

void QuietThread::work(const std::stop_token& stop) {
    let_others_first();
    const Progress progress = [this](std::size_t done, std::size_t total, std::shared_ptr<const void> so_far) {
        {
            const std::lock_guard lock(mutex_);
            news_ = true;
            done_ = done;
            total_ = total;
            so_far_.swap(so_far);  // the old value is destroyed after the lock is released
        }
        heard_.notify_all();
    };
    std::unique_lock lock(mutex_);
    while (ordered_.wait(lock, stop, [this] { return call_ != nullptr; })) {
        const auto* call = call_;
        lock.unlock();
        (*call)(progress);
        lock.lock();
        call_ = nullptr;
        heard_.notify_all();
    }
}

void QuietThread::carry_out(const std::function<void(const Progress&)>& compute, const Progress& told) {
    std::unique_lock lock(mutex_);
    call_ = &compute;
    news_ = false;
    ordered_.notify_all();
    while (true) {
        heard_.wait(lock, [this] { return news_ || call_ == nullptr; });
        if (!std::exchange(news_, false)) return;
        const std::size_t done = done_, total = total_;
        std::shared_ptr<const void> so_far = std::exchange(so_far_, nullptr);
        lock.unlock();
        told(done, total, std::move(so_far));
        lock.lock();
    }
}

}  // namespace attn::app
