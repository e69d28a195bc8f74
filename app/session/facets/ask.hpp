#pragma once
/// How a facet says what it is computed from: its make() asks.

#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/session/values/facet.hpp"
#include "app/session/values/results.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {

/// What the make() of a request asked for, and the job that it returned.
struct Asked {
    std::vector<Request> needs{};               ///< in the order in which they were asked for
    std::optional<StageId> looks_at{};          ///< the stage of the first Ask::pass_to()
    AnyJob job{};                               ///< none: make() ended before
    std::shared_ptr<const Fact> failed{};       ///< at a need that cannot be computed,
    std::exception_ptr error{};                 ///< by an error, or otherwise because it waits for the last of `needs`
    std::optional<double> mib_of_all_stages{};  ///< of the request's state, if its pass or the beginning is known
    bool waits() const { return job == nullptr && failed == nullptr && error == nullptr; }
};

/// Calls the request's make(). Computes nothing.
Asked asked_by(const Request& request, const Results& results);

/// The stage whose part is all that a request reads of an outline, so that facet::Beginning can suffice; none if it reads more.
inline std::optional<StageId> looks_at(const Request& request) { return asked_by(request, {}).looks_at; }

/// What make() may use. Where something that is asked for is not known yet, make() ends there and is called again once it is; where it
/// cannot be computed, the facet fails for the same reason.
class Ask {
public:
    /// Null for a facet that belongs to no state.
    const StateRef& state() const { return state_; }

    /// Another facet of this state.
    template <class F>
    std::shared_ptr<const typename F::Value> operator()(const F& facet) {
        return of(state_, facet);
    }
    /// A facet of another state.
    template <class F>
    std::shared_ptr<const typename F::Value> of(const StateRef& state, const F& facet) {
        return std::static_pointer_cast<const typename F::Value>(need({state, facet}));
    }
    /// As much of this state's pass as the part around `stage` is computed from: the beginning, where the rest is not known yet.
    std::shared_ptr<const Snapshot> pass_to(const StageId& stage);

    // What happens to be known, to go on from. It is no need.

    /// The beginning of this state's pass; null if it is not known.
    std::shared_ptr<const BegunPass> begun() const;
    /// A facet of a state; null if it is not known.
    template <class F>
    std::shared_ptr<const typename F::Value> if_known(const StateRef& state, const F& facet) const {
        return results_.find(state, facet).value;
    }
    /// A facet of all states of which it is known.
    template <class F>
    std::vector<std::shared_ptr<const typename F::Value>> known(const F& facet) const {
        return results_.all(facet);
    }

private:
    friend Asked asked_by(const Request& request, const Results& results);
    Ask(const StateRef& state, const Results& results, Asked& asked) : state_(state), results_(results), asked_(asked) {}
    std::shared_ptr<const void> need(Request request);

    const StateRef& state_;
    const Results& results_;
    Asked& asked_;
};

}  // namespace attn::app
