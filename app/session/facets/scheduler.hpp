#pragma once
/// Computes all facets in the background.

#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "app/session/document/memory_budget.hpp"
#include "app/session/facets/agenda.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/threads/quiet_thread.hpp"
#include "app/session/values/results.hpp"

namespace attn::app {

/// One worker thread per lane computes the wanted requests in list order, each after its dependencies. Requests that are no longer wanted
/// are cancelled. Values are kept while wanted, and a limited number of them longer. All methods must be called from one thread (the UI's).
class Scheduler {
public:
    /// `wake` is called from a worker when a new result can be shown: for the quick facets of a state, only once all of them are ready.
    Scheduler(Computation computation, std::function<void()> wake, double budget_mib = default_memory_budget_mib());
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// Replaces the previous requests. `following`: the states are moments of a running training run and will soon be superseded. Slow
    /// facets are then allowed to finish, and are recomputed only from time to time. `models`: those in use; no value of another model is
    /// kept, because it would keep the model open.
    void want(std::vector<Request> wanted, bool following = false, std::vector<ModelRef> models = {});
    /// To be called when the beginning of a pass has been drawn: the pass, which waits briefly for this, goes on.
    void picture_drawn();
    /// Takes effect at once: all results are dropped and computed again.
    void set_budget(double mib);
    double budget_mib() const;
    Results results() const;
    /// Waits until every wanted request has a value or a problem.
    void wait();
    /// Waits for one request, which must be wanted.
    void wait_for(const Request& request);

private:
    using Clock = std::chrono::steady_clock;
    struct Running {
        std::optional<Request> request;
        std::stop_source stop;
    };
    /// The next request to compute, or when to look again.
    struct Choice {
        std::optional<Request> request;
        Clock::time_point look_again = Clock::time_point::max();
    };

    void work(Lane lane, const std::stop_token& stop);
    using Progress = QuietThread::Progress;
    /// `asked` has a job, or the need that it failed for.
    Fact compute(const Request& request, const Asked& asked, double room_mib, KeptByLane& kept, const std::stop_token& job,
                 const Progress& progress);
    /// Publishes `fact`. `ended`: the lane is idle again.
    void publish(Lane lane, std::shared_ptr<const Fact> fact, bool ended);

    // Require the lock:
    Choice choose(Lane lane) const;
    /// Chooses only among facets with, or only among those without, FacetInfo::gives_way.
    Choice choose(Lane lane, bool gives_way) const;
    bool is_in_the_way(const Running& running) const;
    /// Waits for work; false if the program is shutting down.
    bool await_choice(Lane lane, std::unique_lock<std::mutex>& lock, const std::stop_token& stop, Choice& choice);
    bool is_open(const Request& request) const { return results_.is_open(request); }
    /// Whether only the beginning of the state's pass is known.
    bool is_begun(const StateRef& state) const;
    bool is_running(const Request& request) const;
    bool more_follows_at_once(const Request& request) const;
    /// Whether to go on computing it: it is asked for, or belongs to a recent moment of a followed run.
    bool is_useful(const Request& request) const;
    /// The earliest time at which a facet of a followed run may be recomputed.
    Clock::time_point due(const Request& request) const;
    /// Memory available to it, MiB.
    double room_for(const Agenda::Entry& entry) const;
    /// Adds a fact to what is known. Returns the one whose place it takes.
    std::shared_ptr<const Fact> know(const std::shared_ptr<const Fact>& fact);
    /// Drops the facts that are of no use any more. Returns all that were known, so that these are destroyed after the lock is released.
    Results tidy_up();
    void drop_old(Results::Facts& facts);
    /// Whether a request that nobody asks for any more holds a model that is not in use.
    bool is_of_model_left(const Request& request) const;

    const Computation computation_;
    const std::function<void()> wake_;
    const int threads_;

    mutable std::mutex mutex_;  // guards the nine members below; held only for lookups and pointer swaps
    std::condition_variable_any changed_;
    double budget_mib_;
    Agenda agenda_;
    bool following_ = false;
    std::vector<ModelRef> models_;
    Clock::time_point pass_goes_on_{};  ///< when a begun pass goes on even if nothing was drawn
    bool untold_ = false;               ///< the last fact caused no wake-up, because another was to follow at once
    std::array<Running, kLanes> running_;
    Results results_;
    mutable bool handed_out_ = false;  ///< results_ must not be changed: others have copies of it

    QuietThread quiet_;                         ///< computes for the patient lane, whose worker handles the locking
    std::array<std::jthread, kLanes> workers_;  // last, because they use the members above
};

}  // namespace attn::app
