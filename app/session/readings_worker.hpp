#pragma once
/// The worker that reads whole traces which no analyst sees to any more, such as that of a pinned state.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "app/session/readings.hpp"
#include "app/session/snapshot.hpp"

namespace attn::app {

/// One thread, idle until asked. All methods are for one thread (the UI's).
class ReadingsWorker {
public:
    using Read = std::function<Readings(const Trace<float>&, std::stop_token)>;

    /// `wake` is called from the worker when there is something new to show. Tests replace the computation.
    explicit ReadingsWorker(std::function<void()> wake, Read read = read_trace);
    ~ReadingsWorker();
    ReadingsWorker(const ReadingsWorker&) = delete;
    ReadingsWorker& operator=(const ReadingsWorker&) = delete;

    /// Asks about a snapshot that has a trace, in place of any asked about before; what is under way is abandoned. Asking again about
    /// the same one changes nothing.
    void request(std::shared_ptr<const Snapshot> snapshot);
    ReadingsReport report() const;
    /// Waits until nothing is under way.
    void wait();

private:
    void run(const std::stop_token& stop);
    void compute(const Snapshot& snapshot, const std::stop_token& job);

    const std::function<void()> wake_;
    const Read read_;

    mutable std::mutex mutex_;  // guards the four below
    std::condition_variable_any changed_;
    std::shared_ptr<const Snapshot> wanted_;  // null: none
    std::stop_source job_;
    ReadingsReport report_;

    std::jthread worker_;  // last: it uses everything above
};

}  // namespace attn::app
