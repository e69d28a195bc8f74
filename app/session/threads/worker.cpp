#include "app/session/threads/worker.hpp"

#include <exception>
#include <future>
#include <memory>
#include <utility>

#include "app/session/threads/scarce_memory.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

Worker::Worker(Reports reports) : reports_(std::move(reports)), thread_([this](const std::stop_token& stop) { work(stop); }) {}

Worker::~Worker() {
    thread_.request_stop();
    const std::lock_guard lock(mutex_);
    stop_.request_stop();
}

void Worker::send(Job job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
}

void Worker::stop() {
    const std::lock_guard lock(mutex_);
    stop_.request_stop();
}

void Worker::interrupt(Job job) {
    {
        const std::lock_guard lock(mutex_);
        stop_.request_stop();
        jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
}

void Worker::replace(Job job) {
    std::deque<Job> dropped;  // destroyed after the lock is released
    {
        const std::lock_guard lock(mutex_);
        stop_.request_stop();
        dropped.swap(jobs_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
}

void Worker::clear() {
    std::deque<Job> dropped;
    std::optional<Later> later;
    {
        const std::lock_guard lock(mutex_);
        stop_.request_stop();
        dropped.swap(jobs_);
        later.swap(later_);
    }
    changed_.notify_all();
}

void Worker::send_later(Clock::time_point due, Job job) {
    std::optional<Later> later = Later{due, std::move(job)};
    {
        const std::lock_guard lock(mutex_);
        later.swap(later_);
    }
    changed_.notify_all();
}

void Worker::send_and_wait(Job job) {
    struct AtEnd {
        std::promise<void> over;
        ~AtEnd() { over.set_value(); }
    };
    auto end = std::make_shared<AtEnd>();  // destroyed with the job, also if that is dropped
    const std::future<void> over = end->over.get_future();
    send([job = std::move(job), end = std::move(end)](const std::stop_token& stop) { job(stop); });
    over.wait();
}

bool Worker::is_idle() const {
    const std::lock_guard lock(mutex_);
    return idle();
}

void Worker::wait() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return idle(); });
}

std::optional<Worker::Job> Worker::next(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
    while (jobs_.empty()) {
        if (stop.stop_requested()) return std::nullopt;
        // A copy, because the wait reads it while the lock is not held.
        const auto due = later_ ? std::optional(later_->due) : std::nullopt;
        const auto has_changed = [&] { return !jobs_.empty() || (later_ ? std::optional(later_->due) : std::nullopt) != due; };
        if (!due) changed_.wait(lock, stop, has_changed);
        else if (Clock::now() >= *due) break;
        else changed_.wait_until(lock, stop, *due, has_changed);
    }
    Job job;
    if (jobs_.empty()) {
        job.swap(later_->job);
        later_.reset();
    } else {
        job.swap(jobs_.front());
        jobs_.pop_front();
    }
    return job;
}

void Worker::work(const std::stop_token& stop) {
    while (true) {
        std::stop_source fresh = when_memory_allows([] { return std::stop_source(); });
        std::stop_token asked;
        std::optional<Job> job;
        {
            std::unique_lock lock(mutex_);
            job = next(lock, stop);
            if (!job) return;
            in_progress_ = true;
            stop_ = std::move(fresh);
            // Under the lock, because the destructor stops the job under it: either this sees the request or the job does.
            if (stop.stop_requested()) stop_.request_stop();
            asked = stop_.get_token();
        }
        try_out(*job, asked);
        job.reset();  // what it holds is released while the lock is not held
        {
            const std::lock_guard lock(mutex_);
            in_progress_ = false;
        }
        changed_.notify_all();
        if (reports_.ended) reports_.ended();
    }
}

void Worker::try_out(const Job& job, const std::stop_token& stop) {
    try {
        job(stop);
    } catch (const Cancelled&) {
        // As asked for.
    } catch (const std::exception& error) {
        if (!reports_.failed) throw;
        reports_.failed(message_of(error));
    }
}

}  // namespace attn::app
