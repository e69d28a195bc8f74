#pragma once
/// The worker that generates text.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/session/document/commands.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/states/opened_model.hpp"
#include "app/session/threads/worker.hpp"

namespace attn::app {

/// A generation job; a value, so that the document may change meanwhile.
struct WritingJob {
    std::shared_ptr<const Parameters<float>> parameters;
    ModelRef model{};  ///< whose file `parameters` are read from; null for parameters in memory
    std::vector<std::int32_t> text, source;
    std::vector<std::int32_t> ends;
    ForwardSettings forward;
    SamplingSettings sampling;
    std::uint64_t drawn = 0;  ///< tokens at the end of `text` that were generated before
};

/// Tokens generated since the last call of take().
struct WrittenNews {
    std::vector<WrittenToken> tokens;  ///< in sequence: each follows the one before, `after` is not set
    bool ended = false;                ///< the job is done
    std::string problem;               ///< why it ended early, "" if it did not
};

/// Runs one job at a time on a thread of its own, so that traces and verification do not delay it. All methods must be called from one
/// thread (the UI's).
class Writer {
public:
    /// `wake` is called from the worker after every token. Keys and values of the last text are kept for the next job if they take only a
    /// small part of `budget_mib`.
    Writer(decltype(Computation::write) write, std::function<void()> wake, double budget_mib);
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    /// Replaces the current job and discards its remaining tokens.
    void start(WritingJob job);
    void stop();
    /// Drops keys and values kept for any other model.
    void keep_only(const Parameters<float>* parameters);
    void set_budget(double mib);
    WrittenNews take();
    bool is_busy() const;
    /// Waits until the job is done. For tests and programs without a window.
    void wait();

private:
    /// Makes everything before out of date; returns the number of what comes now.
    std::uint64_t begin(bool busy);
    void write(const WritingJob& job, std::uint64_t number, const std::stop_token& stop);
    /// Moves out what is kept for the job's parameters; the job owns it while it runs.
    KeptText take_kept(const WritingJob& job);
    void keep(const WritingJob& job, KeptText kept);
    /// Adds news of the job unless it has been cancelled.
    void tell(std::uint64_t number, const std::function<void(WrittenNews&)>& add);

    const decltype(Computation::write) write_;
    const std::function<void()> wake_;
    const int threads_;

    mutable std::mutex mutex_;  // guards everything below
    std::uint64_t number_ = 0;  ///< number of the current job; older ones are cancelled
    bool busy_ = false;         ///< the current job is not done
    WrittenNews news_;
    double budget_mib_;
    const Parameters<float>* wanted_ = nullptr;  ///< the parameters whose keys and values may be kept
    /// Keys and values of the last text and the parameters they belong to; empty while a job uses them.
    KeptText kept_;
    std::shared_ptr<const Parameters<float>> kept_of_;

    Worker worker_;  // last, because it uses everything above
};

/// The session's record of the generation in progress.
struct WritingUnderWay {
    std::optional<command::WriteOn> wanted;  ///< starts once the prompt is computed
    std::optional<std::int64_t> tip;         ///< the last token so far, while the shown text follows
    WritingJob job;                          ///< would continue from there
    std::uint64_t number = 0;                ///< counts jobs
    std::string step;                        ///< all changes of the job form one undo step: what they are merged by
    bool taking = false;                     ///< the document is being changed by generation itself
    std::string problem;
};

}  // namespace attn::app
