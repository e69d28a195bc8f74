#include "app/session/facets/scheduler.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include "app/session/document/document_error.hpp"
#include "app/session/threads/scarce_memory.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/memory.hpp"

namespace attn::app {
namespace {

/// Limits for results that are not requested at the moment but kept in case they are again.
constexpr std::size_t kMostIdleTraces = 8, kMostIdleOthers = 32;
constexpr double kMostIdleMiB = 24;
/// How long a begun pass waits for the picture of its beginning. Usually the picture takes less, and the pass goes on as soon as it is
/// drawn.
constexpr std::chrono::milliseconds kLongestPicture{60};
/// After this long without work, the memory kept for the next pass is returned. Freed memory is kept for less time than this, so that
/// nothing is left: see keep_spare_memory().
constexpr std::chrono::milliseconds kRest{1000};

/// Whether both ask for the same facet of the same state, except for the moment of the training run.
bool same_but_for_moment(const Request& older, const Request& newer) {
    return older.state != nullptr && newer.state != nullptr && older.facet == newer.facet &&
           app::same_but_for_moment(*older.state, *newer.state);
}

}  // namespace

Scheduler::Scheduler(Computation computation, std::function<void()> wake, double budget_mib)
    : computation_(std::move(computation)), wake_(std::move(wake)), threads_(thread_budget()), budget_mib_(budget_mib) {
    for (const Lane lane : {Lane::Prompt, Lane::Patient})
        workers_[static_cast<std::size_t>(lane)] = std::jthread([this, lane](const std::stop_token& stop) { work(lane, stop); });
}

Scheduler::~Scheduler() {
    for (std::jthread& worker : workers_) worker.request_stop();
    const std::lock_guard lock(mutex_);
    for (Running& running : running_) running.stop.request_stop();
}

double Scheduler::budget_mib() const {
    const std::lock_guard lock(mutex_);
    return budget_mib_;
}

void Scheduler::set_budget(double mib) {
    Results none;   // afterwards the old facts, which are destroyed after the lock is released
    Agenda agenda;  // likewise
    {
        const std::lock_guard lock(mutex_);
        if (mib == budget_mib_) return;
        budget_mib_ = mib;
        for (Running& running : running_)
            if (running.request) running.stop.request_stop();
        std::swap(results_, none);
        agenda = Agenda(agenda_.wanted(), results_);
        std::swap(agenda_, agenda);
    }
    changed_.notify_all();
}

void Scheduler::want(std::vector<Request> wanted, bool following, std::vector<ModelRef> models) {
    Results results;  // old facts are destroyed after the lock is released,
    Agenda agenda;    // and so are old requests
    bool tells = false;
    {
        const std::lock_guard lock(mutex_);
        if (wanted == agenda_.wanted() && following == following_ && models == models_) return;
        agenda = Agenda(std::move(wanted), results_, agenda_);
        std::swap(agenda_, agenda);
        std::swap(models_, models);  // the old ones are closed after the lock is released
        following_ = following;
        tells = std::exchange(untold_, false);  // the result that a wake-up was postponed for may no longer be wanted
        for (Running& running : running_)
            if (running.request && (!is_useful(*running.request) || is_in_the_way(running))) running.stop.request_stop();
        results = tidy_up();
    }
    changed_.notify_all();
    if (tells) wake_();
}

void Scheduler::picture_drawn() {
    {
        const std::lock_guard lock(mutex_);
        pass_goes_on_ = {};
    }
    changed_.notify_all();
}

Results Scheduler::results() const {
    const std::lock_guard lock(mutex_);
    handed_out_ = true;
    return results_;
}

void Scheduler::wait() {
    std::unique_lock lock(mutex_);
    const auto is_open = [](const Agenda::Entry* wanted) { return wanted->is_open(); };
    changed_.wait(lock, [&] { return std::none_of(agenda_.wanted_entries().begin(), agenda_.wanted_entries().end(), is_open); });
}

void Scheduler::wait_for(const Request& request) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !is_open(request); });
}

bool Scheduler::is_begun(const StateRef& state) const { return is_open({state, facet::Trace{}}) && results_.begun(state) != nullptr; }

bool Scheduler::is_running(const Request& request) const {
    return std::any_of(running_.begin(), running_.end(), [&](const Running& running) { return running.request == request; });
}

bool Scheduler::is_useful(const Request& request) const {
    if (agenda_.find(request) != nullptr) return true;
    const std::vector<Request>& all = agenda_.wanted();
    return following_ && std::any_of(all.begin(), all.end(), [&](const Request& wanted) { return same_but_for_moment(request, wanted); });
}

/// While a run is followed there is always other work, so a low-priority facet would never finish if it were interrupted.
bool Scheduler::is_in_the_way(const Running& running) const {
    if (following_ || !running.request->facet.info().gives_way) return false;
    return choose(running.request->facet.info().lane, false).request.has_value();
}

Scheduler::Clock::time_point Scheduler::due(const Request& request) const {
    Clock::time_point due{};
    const FacetInfo& info = request.facet.info();
    if (!following_ || info.lane == Lane::Prompt) return due;
    for (const auto& fact : results_.facts()) {
        if (!fact->settled() || !same_but_for_moment(fact->request, request)) continue;
        const auto took = fact->ended - fact->begun;
        due = std::max(due, fact->ended + std::max<Clock::duration>(info.pause, info.share * took));
    }
    return due;
}

Scheduler::Choice Scheduler::choose(Lane lane) const {
    Choice choice = choose(lane, false);
    if (choice.request) return choice;
    Choice last = choose(lane, true);
    last.look_again = std::min(last.look_again, choice.look_again);
    return last;
}

Scheduler::Choice Scheduler::choose(Lane lane, bool gives_way) const {
    Choice choice;
    bool put_off = false;
    const auto now = Clock::now();
    for (const Agenda::Entry* entry : agenda_.wanted_entries()) {
        const Request& wanted = *entry->request;
        if (!entry->is_open() || wanted.facet.info().gives_way != gives_way || is_running(wanted)) continue;
        if (const auto when = due(wanted); when > now) {
            choice.look_again = std::min(choice.look_again, when);
            continue;
        }
        const Request& next = *entry->next().request;
        // Already being computed, or belongs to the other lane.
        if (is_running(next) || next.facet.info().lane != lane) continue;
        // The rest of a begun pass would only delay the picture of its beginning, and so would the pass of a state compared with it.
        put_off = put_off || (next.facet.as<facet::Trace>() != nullptr && now < pass_goes_on_ && is_begun(next.state));
        if (put_off && is_pass(next.facet)) {
            choice.look_again = std::min(choice.look_again, pass_goes_on_);
            continue;
        }
        choice.request = next;
        return choice;
    }
    return choice;
}

bool Scheduler::await_choice(Lane lane, std::unique_lock<std::mutex>& lock, const std::stop_token& stop, Choice& choice) {
    const auto look = [&] { choice = when_memory_allows([&] { return choose(lane); }); };
    look();
    const Clock::time_point rests = Clock::now() + kRest;
    bool keeps_memory = true;
    while (!choice.request && !stop.stop_requested()) {
        const Clock::time_point again = choice.look_again, until = keeps_memory ? std::min(again, rests) : again;
        const auto sooner = [&] {
            look();
            return choice.request || choice.look_again < again;
        };
        if (until == Clock::time_point::max()) changed_.wait(lock, stop, sooner);
        else if (!changed_.wait_until(lock, stop, until, sooner)) look();
        if (!keeps_memory || Clock::now() < rests) continue;
        keeps_memory = false;
        lock.unlock();
        return_spare_memory();
        lock.lock();
        look();
    }
    // Checked under the lock because the destructor stops the jobs under it: either this sees the stop or the job does.
    return !stop.stop_requested();
}

/// Earlier requests in the list have precedence: only the memory that they do not hold is available.
double Scheduler::room_for(const Agenda::Entry& entry) const {
    double held = 0;
    for (const auto& [request, other] : agenda_.entries()) {
        if (&other == &entry || other.turn > entry.turn / 2 * 2 || other.fact == nullptr || other.fact->value == nullptr) continue;
        // A completed pass takes the place of its beginning.
        if (request.facet.as<facet::Beginning>() != nullptr && !is_open({request.state, facet::Trace{}})) continue;
        held += other.fact->mib;
    }
    return budget_mib_ - held;
}

bool Scheduler::is_of_model_left(const Request& request) const {
    const auto in_use = [this](const ModelRef& model) { return std::find(models_.begin(), models_.end(), model) != models_.end(); };
    const ModelRef& model = request.state == nullptr ? ModelRef() : request.state->setup->model;
    return model != nullptr && !in_use(model);
}

/// Problems are dropped as soon as nobody requests them, so that requesting them again retries.
void Scheduler::drop_old(Results::Facts& facts) {
    std::size_t traces = 0, others = 0;
    double mib = 0;
    const double most = std::min(kMostIdleMiB, budget_mib_ / 4);
    std::vector<const Fact*> kept;
    std::erase_if(facts, [&](const std::shared_ptr<const Fact>& fact) {
        if (const Agenda::Entry* entry = agenda_.find(fact->request)) {
            // Retry what was refused for lack of memory once there is more.
            const bool again = fact->value == nullptr && fact->settled() && room_for(*entry) > fact->mib;
            if (again) agenda_.forget(fact->request);
            return again;
        }
        if (fact->value == nullptr) return !is_running(fact->request);
        if (!fact->request.facet.info().is_idle_kept || is_of_model_left(fact->request)) return true;
        // A followed run keeps producing moments; keep only the latest value of each facet.
        if (following_ &&
            std::any_of(kept.begin(), kept.end(), [&](const Fact* newer) { return same_but_for_moment(fact->request, newer->request); }))
            return true;
        const bool is_trace = fact->request.facet.as<facet::Trace>() != nullptr;
        std::size_t& count = is_trace ? traces : others;
        if (count == (is_trace ? kMostIdleTraces : kMostIdleOthers) || mib + fact->mib > most) return true;
        ++count;
        mib += fact->mib;
        kept.push_back(fact.get());
        return false;
    });
}

Results Scheduler::tidy_up() {
    Results::Facts facts(results_.facts().begin(), results_.facts().end());
    // Recently requested facts come first and are therefore kept longest.
    std::stable_partition(facts.begin(), facts.end(), [this](const auto& known) { return agenda_.find(known->request) != nullptr; });
    drop_old(facts);
    handed_out_ = false;
    return std::exchange(results_, Results(std::move(facts)));
}

std::shared_ptr<const Fact> Scheduler::know(const std::shared_ptr<const Fact>& fact) {
    if (handed_out_) results_ = results_.of_its_own();
    handed_out_ = false;
    std::shared_ptr<const Fact> replaced = results_.put(fact);
    agenda_.learn(fact, results_);
    return replaced;
}

void Scheduler::work(Lane lane, const std::stop_token& stop) {
    KeptByLane kept{threads_};
    Running& running = running_[static_cast<std::size_t>(lane)];
    while (true) {
        Choice choice;
        Asked asked;
        double room_mib = 0;
        std::stop_source fresh = when_memory_allows([] { return std::stop_source(); });
        std::stop_token job;
        {
            std::unique_lock lock(mutex_);
            if (!await_choice(lane, lock, stop, choice)) return;
            asked = when_memory_allows([&] { return agenda_.ask(*choice.request, results_); });
            if (asked.waits()) continue;  // something that it had is gone
            running.stop = std::move(fresh);
            job = running.stop.get_token();
            running.request = when_memory_allows([&] { return choice.request; });
            const Agenda::Entry* entry = agenda_.find(*choice.request);
            room_mib = when_memory_allows([&] { return room_for(*entry); });
        }
        Fact fact;
        const auto tell = [&](std::size_t done, std::size_t total, const std::shared_ptr<const void>& known) {
            auto so_far = when_memory_allows([&] {
                auto made = std::make_shared<Fact>();
                made->request = *choice.request;
                made->done = done;
                made->total = total;
                made->so_far = known;
                return made;
            });
            publish(lane, std::move(so_far), false);
        };
        const auto calculate = [&](const Progress& progress) { fact = compute(*choice.request, asked, room_mib, kept, job, progress); };
        // Verification and the like must not slow down typing, so they run at the lowest priority.
        // std::ref avoids an allocation here.
        if (lane == Lane::Patient) quiet_.run(std::ref(calculate), std::ref(tell));
        else calculate(std::ref(tell));
        // An error in a computation that was cancelled is ignored.
        const bool given_up = fact.value == nullptr && job.stop_requested();
        publish(lane, given_up ? nullptr : when_memory_allows([&] { return std::make_shared<const Fact>(fact); }), true);
    }
}

Fact Scheduler::compute(const Request& request, const Asked& asked, double room_mib, KeptByLane& kept, const std::stop_token& job,
                        const Progress& progress) {
    Fact fact;
    fact.begun = Clock::now();
    fact.mib = room_mib;
    try {
        fact.request = request;
        if (asked.failed != nullptr) {
            fact.problem = asked.failed->problem;
            fact.field = asked.failed->field;
            return fact;
        }
        FacetValue made = carried_out(request, asked, {computation_, kept, progress, room_mib, budget_mib(), job});
        fact.value = std::move(made.value);
        fact.mib = made.mib;
    } catch (const std::exception& error) {
        const auto* about = dynamic_cast<const DocumentError*>(&error);
        if (about != nullptr) fact.field = about->field();
        const std::string message = message_of(error);
        when_memory_allows([&] {
            fact.request = request;
            fact.problem = std::string(request.facet.info().failed) + (message.empty() ? "this could not be computed" : message);
        });
    }
    fact.ended = Clock::now();
    return fact;
}

/// Quick facets of a state are shown together with its trace, or with its beginning: an extra frame in between would only delay them.
bool Scheduler::more_follows_at_once(const Request& request) const {
    if (request.facet.info().lane != Lane::Prompt) return false;
    const bool early = is_begun(request.state);
    for (const Agenda::Entry* entry : agenda_.wanted_entries()) {
        const Request& other = *entry->request;
        if (!entry->is_open() || other.state != request.state || other == request || !other.comes_with_picture()) continue;
        if (!early || !entry->needs_directly({other.state, facet::Trace{}})) return true;
    }
    return false;
}

void Scheduler::publish(Lane lane, std::shared_ptr<const Fact> fact, bool ended) {
    bool tells = false;
    {
        Results results;                       // old facts are destroyed after the lock is released
        std::shared_ptr<const Fact> replaced;  // likewise
        const std::lock_guard lock(mutex_);
        if (ended) running_[static_cast<std::size_t>(lane)].request.reset();
        if (fact != nullptr) replaced = when_memory_allows([&] { return know(fact); });
        // A value that is asked for leaves all others as useful as they were.
        const bool is_plain =
            fact != nullptr && fact->problem.empty() && !is_pass(fact->request.facet) && agenda_.find(fact->request) != nullptr;
        if (!is_plain) results = when_memory_allows([&] { return tidy_up(); });
        const bool took_long = fact != nullptr && ended && fact->ended - fact->begun > kLongestPicture;
        const bool follows = fact != nullptr && ended && !took_long && more_follows_at_once(fact->request);
        if (fact != nullptr && ended && fact->request.state != nullptr && is_begun(fact->request.state))
            pass_goes_on_ = Clock::now() + kLongestPicture;
        // A cancelled computation brings nothing new, but a postponed wake-up must not be lost.
        tells = fact != nullptr ? !follows : untold_;
        untold_ = follows;
    }
    changed_.notify_all();
    if (tells) wake_();
}

}  // namespace attn::app
