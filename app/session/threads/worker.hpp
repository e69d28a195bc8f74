#pragma once
/// A thread that carries out jobs in the order in which they are sent.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace attn::app {

/// Files, training, writing and autosaves each run on one. All methods may be called from any thread, also from a job, but those that wait
/// only from other threads.
class Worker {
public:
    using Clock = std::chrono::steady_clock;
    /// `stop` is requested by stop(), interrupt(), replace(), clear() and the destructor.
    using Job = std::function<void(const std::stop_token& stop)>;
    /// Called on the thread; either may be empty.
    struct Reports {
        /// A job ended with an exception other than Cancelled. If this is empty, jobs throw nothing else: it would end the program.
        std::function<void(const std::string& message)> failed;
        std::function<void()> ended;  ///< a job is over, and is_idle() knows
    };

    explicit Worker(Reports reports = {});
    /// Asks all jobs to stop. Those in the queue still run, with the request made, so that nothing that must be saved is lost; a later job
    /// is dropped.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void send(Job job);
    /// Asks the job in progress to stop; those that wait stay.
    void stop();
    /// Sends a job for which the one in progress is asked to stop.
    void interrupt(Job job);
    /// Sends a job instead of the queue: the one in progress is asked to stop, those that wait are dropped. A later job stays.
    void replace(Job job);
    /// Carries out a job from `due` on, whenever no other is waiting. There is only one such job: a newer one replaces it.
    void send_later(Clock::time_point due, Job job);
    /// Drops all jobs that wait, also a later one, and asks the one in progress to stop.
    void clear();
    /// Sends a job and waits until it has been carried out, or dropped.
    void send_and_wait(Job job);

    /// Whether no job is in progress or waiting, not even one that is not due yet.
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
    bool idle() const { return jobs_.empty() && !later_ && !in_progress_; }

    const Reports reports_;

    mutable std::mutex mutex_;  // guards the members below
    mutable std::condition_variable_any changed_;
    std::deque<Job> jobs_;
    std::optional<Later> later_;
    bool in_progress_ = false;
    std::stop_source stop_;  ///< of the job in progress

    std::jthread thread_;  // last, because it uses the members above
};

}  // namespace attn::app
