#pragma once
/// The worker that writes on.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "app/session/document/commands.hpp"
#include "app/session/facets/computation.hpp"

namespace attn::app {

/// What is written on, and how; a value of its own, so that the document may change meanwhile.
struct WritingJob {
    std::shared_ptr<const Parameters<float>> parameters;
    std::vector<std::int32_t> text, source;
    std::vector<std::int32_t> ends;
    ForwardSettings forward;
    SamplingSettings sampling;
    std::uint64_t drawn = 0;  ///< tokens at the end of `text` that were drawn before
};

/// What has been written since it was asked for last.
struct WrittenNews {
    std::vector<WrittenToken> tokens;  ///< which of them follows which is not said: each follows the one before
    bool ended = false;                ///< nothing more will come of the job
    std::string problem;               ///< why it came to an end before its time, "" when it did not
};

/// One thread with one job at a time, so that neither checks nor traces hold it up. All methods are for one thread (the UI's).
class Writer {
public:
    /// `wake` is called from the worker after every token. Keys and values of a text are kept from one job to the next where they are a
    /// small part of `budget_mib`.
    Writer(decltype(Computation::write) write, std::function<void()> wake, double budget_mib);
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    /// The job before is given up, with what was not taken of it.
    void start(WritingJob job);
    void stop();
    /// What is kept of other models' texts is of no more use.
    void keep_only(const Parameters<float>* parameters);
    void set_budget(double mib);
    WrittenNews take();
    bool is_busy() const;
    /// Waits until the job is done. For tests and programs without a window.
    void wait();

private:
    void work(const std::stop_token& stop);
    void carry_out(const WritingJob& job, std::uint64_t number, const std::stop_token& stop);
    /// What is kept of the job's parameters, which is not there meanwhile.
    KeptText take_kept(const WritingJob& job);
    void keep(const WritingJob& job, KeptText kept);
    /// Keeps news of the job unless it has been given up.
    void tell(std::uint64_t number, const std::function<void(WrittenNews&)>& add);

    const decltype(Computation::write) write_;
    const std::function<void()> wake_;
    const int threads_;

    mutable std::mutex mutex_;  // guards all below
    std::condition_variable_any ordered_;
    std::condition_variable ended_;
    std::optional<WritingJob> waiting_;
    std::uint64_t number_ = 0;  ///< of the job that is wanted; others are given up
    bool busy_ = false;         ///< that job is not done
    std::stop_source job_;
    WrittenNews news_;
    double budget_mib_;
    const Parameters<float>* wanted_ = nullptr;  ///< of which something may be kept
    /// Of the last text, and the parameters that it refers to; not while a job uses it.
    KeptText kept_;
    std::shared_ptr<const Parameters<float>> kept_of_;

    std::jthread worker_;  // last: it uses everything above
};

/// What the session remembers of what is being written.
struct WritingUnderWay {
    std::optional<command::WriteOn> wanted;  ///< begins as soon as the prompt is computed
    std::optional<std::int64_t> tip;         ///< the last token so far, while the picture follows
    WritingJob job;                          ///< as it would be begun again from there
    std::uint64_t number = 0;                ///< counts the jobs: each is a step of its own for undo
    bool taking = false;                     ///< the document changes because something was written
    std::string problem;
};

}  // namespace attn::app
