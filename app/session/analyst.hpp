#pragma once
/// The worker that turns documents into snapshots.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "app/session/prepare.hpp"
#include "app/session/snapshot.hpp"
#include "engine/model/batch.hpp"
#include "engine/model/parameters.hpp"
#include "engine/train/generate.hpp"
#include "engine/train/history.hpp"

namespace attn::app {

/// The engine's calls that the worker makes; tests replace them to be slow, to fail or to be wrong.
struct Computation {
    std::function<Parameters<float>(const Config&, const Parameters<float>* drawn)> parameters;  ///< see initial_parameters()
    std::function<Trace<float>(std::shared_ptr<const Parameters<float>>, const TokenBatch& tokens, const TokenBatch& source,
                               const ForwardSettings&, std::stop_token)>
        forward;
    std::function<reference::Verification(const Trace<float>&, std::stop_token)> verify;    ///< none: skipped
    std::function<GradientTrace<float>(const Trace<float>&, std::stop_token)> gradients{};  ///< of predicting the next token; none: skipped
    /// What follows the first sequence; none: skipped.
    std::function<std::vector<std::int32_t>(const Trace<float>&, const SamplingSettings&, std::stop_token)> sample{};
    std::function<Readings(const Trace<float>&, std::stop_token)> readings{};     ///< none: skipped
    std::function<DoctorReport(const Trace<float>&, std::stop_token)> examine{};  ///< none: skipped
    bool compares = true;  ///< whether the traces without edits, masks or the mistake follow, which a trace is compared with
    /// For larger traces neither those nor gradients nor the doctor's report are computed.
    double limit_mib = kBaselineLimitMiB;

    /// The engine itself.
    static Computation engine();
    /// The trace and nothing besides, unless gradients are asked for: then they too, however large it is.
    static Computation only_trace(bool gradients = false);
};

/// Parameters from a training run, in place of freshly drawn ones.
struct LearnedParameters {
    std::uint64_t run = 0;
    Moment moment;
};

/// How much is wanted of a document whose model is about to be replaced by a newer one.
enum class Depth : std::uint8_t { Trace, Sample, Everything };

/// One thread. For every document: trace, published at once; then, in idle time, the trace without edits, the one without masks, the
/// readings, the one without its mistake, the gradients, the sample, the readings of what it is compared with, the verification and the
/// doctor's report, each published when it is there. A newer request abandons whatever is under way. All methods are for one thread (the
/// UI's).
class Analyst {
public:
    Analyst(Computation computation, std::function<void()> wake);
    ~Analyst();
    Analyst(const Analyst&) = delete;
    Analyst& operator=(const Analyst&) = delete;

    /// Asks for this document's snapshot in place of any asked for before. `learned` are the parameters of a document whose model is
    /// trained.
    void request(std::shared_ptr<const Document> document, std::optional<LearnedParameters> learned = {}, Depth depth = Depth::Everything);
    /// True from a request until its trace, or its problem, is published.
    bool tracing() const;
    /// True when all that was asked for is published.
    bool rests() const;
    /// Newest snapshot; never null.
    std::shared_ptr<const Snapshot> snapshot() const;
    /// Waits until the newest request has its trace, baselines and gradients (and, if asked, verification) or its problem.
    std::shared_ptr<const Snapshot> wait(bool verified);

private:
    /// In this order after every request.
    enum class Step : std::uint8_t { Trace, Plain, Baseline, Readings, Correct, Gradients, Sample, Compared, Verify, Examine, Rest };
    struct Request {
        std::shared_ptr<const Document> document;  // null: none
        std::optional<LearnedParameters> learned;
        Depth depth = Depth::Everything;
    };

    void run(const std::stop_token& stop);
    void work(Step step, const Request& request, const std::stop_token& job);
    void compute_trace(const Request& request, const std::stop_token& job);
    /// The request's parameters: learned, or freshly drawn.
    std::shared_ptr<const Parameters<float>> parameters_of(const Request& request, const Config& config);
    std::shared_ptr<const Trace<float>> reusable_baseline() const;
    std::shared_ptr<const Trace<float>> reusable_plain(const Trace<float>& next) const;
    void compute_plain(const std::stop_token& job);
    void compute_baseline(const std::stop_token& job);
    void compute_correct(const std::stop_token& job);
    void compute_gradients(const std::stop_token& job);
    void compute_sample(const std::stop_token& job);
    void compute_readings(const std::stop_token& job);
    void compute_compared_readings(const std::stop_token& job);
    bool wants_compared_readings() const;
    bool wants_gradients() const;
    /// Whether as much again as the shown trace may be computed.
    bool bearable() const { return trace_mib_ <= computation_.limit_mib; }
    bool wants_sample() const;
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
    Request wanted_;        // newest request that is not begun, without a document when it is
    std::stop_source job_;  // of what is under way
    std::shared_ptr<const Snapshot> latest_;
    Step next_ = Step::Rest;  // what the newest request still needs; Trace while it is not begun or its trace is being computed

    // The worker's own.
    Snapshot shown_;
    double trace_mib_ = 0;
    Depth depth_ = Depth::Everything;  // of what is shown
    bool sampled_ = false;             // the shown sample is that of the shown trace
    bool gave_up_ = false;             // something about the shown trace could not be computed, and would only fail again
    std::shared_ptr<const Parameters<float>> drawn_;

    std::jthread worker_;  // last: it uses everything above
};

}  // namespace attn::app
