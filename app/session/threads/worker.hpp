#pragma once
/// A thread that carries out jobs in the order in which they are sent.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace attn::app {

/// Everything in the background that is not a facet runs on one of these: files, training, writing, autosaves. All methods may be called
/// from any thread, also from a job, but those that wait only from other threads.
class Worker {
public:
    using Clock = std::chrono::steady_clock;
    /// `stop` is requested by interrupt(), replace(), clear() and the destructor.
    using Job = std::function<void(const std::stop_token& stop)>;
    /// Called on the thread; either may be empty.
    struct Reports {
        std::function<void(const std::string& message)> failed;  ///< a job ended with an exception other than Cancelled
        std::function<void()> ended;                             ///< a job is over, and is_idle() knows
    };

    explicit Worker(Reports reports = {});
    /// Asks all jobs to stop. Those that wait are carried out, so that what must not be lost can be done in spite of it.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void send(Job job);
    /// Sends a job for which the one in progress is asked to stop.
    void interrupt(Job job);
    /// Sends a job instead of all others: the one in progress is asked to stop, those that wait are dropped.
    void replace(Job job);
    /// Carries out a job from `due` on, whenever no other is waiting. There is only one such job: a newer one replaces it.
    void send_later(Clock::time_point due, Job job);
    /// Drops the jobs that wait and asks the one in progress to stop.
    void clear();
    /// Sends a job and waits for it.
    void carry_out(Job job);

    /// Whether no job is waiting, whenever it is due, or in progress.
    bool is_idle() const;
    /// Waits until it is.
    void wait() const;

private:
    struct Later {
        Clock::time_point due;
        Job job;
    };
    void work(const std::stop_token& stop);
    void try_out(const Job& job, const std::stop_token& stop);

    // Require the lock:
    /// Waits for a job; none if the thread is to end.
    std::optional<Job> next(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
    std::uint64_t put(Job job);
    bool idle() const { return jobs_.empty() && !later_ && !in_progress_; }

    const Reports reports_;

    mutable std::mutex mutex_;  // guards the members below
    mutable std::condition_variable_any changed_;
    std::deque<Job> jobs_;
    std::optional<Later> later_;
    bool in_progress_ = false;
    std::stop_source stop_;               ///< of the job in progress
    std::uint64_t sent_ = 0, taken_ = 0;  ///< jobs of the queue; the one in progress is taken

    std::jthread thread_;  // last, because it uses the members above
};

}  // namespace attn::app
