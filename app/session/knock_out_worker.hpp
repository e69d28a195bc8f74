#pragma once
/// The worker that measures what each head is worth.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "app/session/knock_out_report.hpp"
#include "app/session/snapshot.hpp"
#include "engine/model/knock_out.hpp"

namespace attn::app {

/// One thread, idle until asked. All methods are for one thread (the UI's).
class KnockOutWorker {
public:
    using Progress = std::function<void(std::size_t done, std::size_t total)>;
    using Compute = std::function<KnockOut(const Trace<float>&, const KnockOutQuestion&, const Progress&, std::stop_token)>;

    /// `wake` is called from the worker when there is something new to show. Tests replace the computation.
    explicit KnockOutWorker(std::function<void()> wake, Compute compute = knock_out_heads);
    ~KnockOutWorker();
    KnockOutWorker(const KnockOutWorker&) = delete;
    KnockOutWorker& operator=(const KnockOutWorker&) = delete;

    /// Asks about a snapshot that has a trace, in place of any asked about before. What is under way is abandoned, unless only the
    /// parameters are newer: the document that follows a training run gets a new snapshot sooner than an answer.
    void request(std::shared_ptr<const Snapshot> snapshot, const KnockOutQuestion& question);
    void cancel();
    KnockOutReport report() const;
    /// Waits until nothing is under way.
    void wait();

private:
    struct Request {
        std::shared_ptr<const Snapshot> snapshot;  ///< null: none
        KnockOutQuestion question;
    };

    void run(const std::stop_token& stop);
    void compute(const Request& request, const std::stop_token& job);

    const std::function<void()> wake_;
    const Compute compute_;

    mutable std::mutex mutex_;  // guards the five below
    std::condition_variable_any requested_;
    std::condition_variable finished_;
    Request wanted_, under_way_;
    std::stop_source job_;
    KnockOutReport report_;

    std::jthread worker_;  // last: it uses everything above
};

}  // namespace attn::app
