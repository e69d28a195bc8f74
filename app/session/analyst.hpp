#pragma once
/// The worker that turns documents into snapshots.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "app/session/snapshot.hpp"
#include "engine/model/batch.hpp"
#include "engine/model/parameters.hpp"

namespace attn::app {

/// The engine's calls that the worker makes; tests replace them to be slow, to fail or to be wrong.
struct Computation {
    std::function<Parameters<float>(const Config&, const Parameters<float>* drawn)> parameters;  ///< see initial_parameters()
    std::function<Trace<float>(std::shared_ptr<const Parameters<float>>, const TokenBatch& tokens, const TokenBatch& source,
                               const ForwardSettings&, std::stop_token)>
        forward;
    std::function<reference::Verification(const Trace<float>&, std::stop_token)> verify;
    std::function<GradientTrace<float>(const Trace<float>&, std::stop_token)> gradients{};  ///< of predicting the next token; none: skipped
    /// The engine itself.
    static Computation engine();
};

/// One thread. For every document: trace, published at once; then, in idle time, the baseline without masks, the gradients and the
/// verification, each published when it is there. A newer request abandons whatever is under way. All methods are for one thread (the
/// UI's).
class Analyst {
public:
    Analyst(Computation computation, std::function<void()> wake);
    ~Analyst();
    Analyst(const Analyst&) = delete;
    Analyst& operator=(const Analyst&) = delete;

    /// Asks for this document's snapshot in place of any asked for before.
    void request(std::shared_ptr<const Document> document);
    /// Newest snapshot; never null.
    std::shared_ptr<const Snapshot> snapshot() const;
    /// Waits until the newest request has its trace, baseline and gradients (and, if asked, verification) or its problem.
    std::shared_ptr<const Snapshot> wait(bool verified);

private:
    enum class Step : std::uint8_t { Trace, Baseline, Gradients, Verify, Rest };  // in this order after every request

    void run(const std::stop_token& stop);
    void work(Step step, const std::shared_ptr<const Document>& document, const std::stop_token& job);
    void compute_trace(const std::shared_ptr<const Document>& document, const std::stop_token& job);
    std::shared_ptr<const Trace<float>> reusable_baseline() const;
    void compute_baseline(const std::stop_token& job);
    void compute_gradients(const std::stop_token& job);
    bool wants_gradients() const;
    /// What the shown trace still lacks.
    Step unfinished() const;
    /// Shows `shown_`; `next` comes after it unless there is a newer request.
    void publish(Step next);

    const Computation computation_;
    const std::function<void()> wake_;
    const int threads_;  // that the machine has for us

    mutable std::mutex mutex_;  // guards the five below; held for pointer swaps only
    std::condition_variable_any requested_;
    std::condition_variable published_;
    std::shared_ptr<const Document> wanted_;  // newest request that is not begun, null when it is
    std::stop_source job_;                    // of what is under way
    std::shared_ptr<const Snapshot> latest_;
    Step next_ = Step::Rest;  // what the newest request still needs; Trace while wanted_ is set or being computed

    // The worker's own.
    Snapshot shown_;
    double trace_mib_ = 0;
    std::shared_ptr<const Parameters<float>> parameters_;

    std::jthread worker_;  // last: it uses everything above
};

}  // namespace attn::app
