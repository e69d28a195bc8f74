#pragma once
/// The one place where facets are computed in the background.

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
#include "app/session/facets/facets.hpp"
#include "app/session/facets/quiet_thread.hpp"
#include "app/session/facets/results.hpp"

namespace attn::app {

/// A thread for each lane computes what is wanted, what comes first in the list before the rest, and what it needs before it. What nobody
/// wants any more is abandoned. Values stay while they are wanted, and a few of them longer. All methods are for one thread (the UI's).
class Scheduler {
public:
    /// `wake` is called from a worker whenever there is something new, of what is promptly known of a state when all of that is.
    Scheduler(Computation computation, std::function<void()> wake, double budget_mib = default_memory_budget_mib());
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// Takes the place of what was wanted before. `following`: the states are moments of a run under way, of which there will be a newer
    /// one soon: then facets that take long are let finish, and computed again only from time to time.
    void want(std::vector<Request> wanted, bool following = false);
    /// From now on; what is known is computed again with it.
    void set_budget(double mib);
    Results results() const;
    /// Waits until all that is wanted is there, or its problem.
    void wait();
    /// The same for one request, which has to be wanted.
    void wait_for(const Request& request);

private:
    using Clock = std::chrono::steady_clock;
    struct Running {
        std::optional<Request> request;
        std::stop_source stop;
    };
    /// What to compute next, or when to look again.
    struct Choice {
        std::optional<Request> request;
        Clock::time_point look_again = Clock::time_point::max();
    };

    void work(Lane lane, const std::stop_token& stop);
    using Progress = QuietThread::Progress;
    Fact compute(const Request& request, const Results& results, double room_mib, FacetMaker& maker, const std::stop_token& job,
                 const Progress& progress);
    /// Makes `fact` known; with `ended` nothing is running in the lane any more.
    void publish(Lane lane, std::shared_ptr<const Fact> fact, bool ended);

    // With the lock held:
    Choice choose(Lane lane) const;
    /// Of what gives way to others, or of those.
    Choice choose(Lane lane, bool gives_way) const;
    bool is_in_the_way(const Running& running) const;
    /// Waits until there is something to compute; false when the program ends.
    bool await_choice(Lane lane, std::unique_lock<std::mutex>& lock, const std::stop_token& stop, Choice& choice);
    bool is_open(const Request& request) const;
    bool is_running(const Request& request) const;
    bool more_follows_at_once(const Request& request) const;
    /// It is wanted, or something that is wanted needs it.
    bool is_asked_for(const Request& request) const;
    /// Worth going on with: asked for, or that of a moment ago of a run that is followed.
    bool is_useful(const Request& request) const;
    /// When a facet of a run that is followed may be computed again.
    Clock::time_point due(const Request& request) const;
    /// What the budget leaves for it.
    double room_for(const Request& request) const;
    /// `fact` (null: none) and all others that are still of use.
    std::shared_ptr<const Results::Facts> facts_with(const std::shared_ptr<const Fact>& fact) const;
    void drop_old(Results::Facts& facts) const;

    const Computation computation_;
    const std::function<void()> wake_;
    const int threads_;

    mutable std::mutex mutex_;  // guards the six below; held for looking things up and pointer swaps only
    std::condition_variable_any changed_;
    double budget_mib_;
    std::vector<Request> wanted_;
    bool following_ = false;
    bool untold_ = false;  ///< nobody was woken for the last fact, as more was to follow at once
    std::array<Running, kLanes> running_;
    std::shared_ptr<const Results::Facts> facts_;

    QuietThread quiet_;                         ///< where the patient lane computes, while its own thread sees to the lock
    std::array<std::jthread, kLanes> workers_;  // last: they use everything above
};

}  // namespace attn::app
