#pragma once
/// A thread for what takes long and nobody waits for.

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

namespace attn::app {

/// Runs only when no other thread of the program has something to do. That is why it may not hold what others wait for, and does nothing
/// but compute: with a lock in its hands it would hold up the window for as long as something else keeps the processor busy.
class QuietThread {
public:
    /// `so_far` is what is known already, null where that cannot be shown.
    using Progress = std::function<void(std::size_t done, std::size_t total, std::shared_ptr<const void> so_far)>;
    QuietThread();
    QuietThread(const QuietThread&) = delete;
    QuietThread& operator=(const QuietThread&) = delete;

    /// Waits while `compute`, which may not throw, is called there with a progress of its own; what it reports is given to `told` by the
    /// calling thread, perhaps not each of the reports. For one thread.
    void carry_out(const std::function<void(const Progress&)>& compute, const Progress& told);

private:
    void work(const std::stop_token& stop);

    std::mutex mutex_;  // guards all below
    std::condition_variable_any ordered_;
    std::condition_variable heard_;
    const std::function<void(const Progress&)>* call_ = nullptr;  ///< null: nothing to do
    bool news_ = false;
    std::size_t done_ = 0, total_ = 0;
    std::shared_ptr<const void> so_far_;

    std::jthread thread_;  // last: it uses everything above
};

}  // namespace attn::app
