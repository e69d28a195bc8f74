#pragma once
/// What has been computed so far, for whoever asks.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/session/document/field.hpp"
#include "app/session/states/facet.hpp"
#include "app/session/states/part_looked_at.hpp"

namespace attn::app {

/// What has become of a request. Immutable.
struct Fact {
    Request request;
    std::shared_ptr<const void> value;   ///< a Facet's Value; null until it is computed
    std::string problem;                 ///< why it cannot be computed
    Field field = Field::None;           ///< the setting that `problem` is about
    std::size_t done = 0, total = 0;     ///< progress, where the facet tells it
    std::shared_ptr<const void> so_far;  ///< the part of the value that is known by then, where the facet tells it
    double mib = 0;                      ///< what the value takes
    std::chrono::steady_clock::time_point begun, ended;
    bool settled() const { return value != nullptr || !problem.empty(); }
};

/// The value of a facet, or why there is none: a problem, or that it is being computed.
template <class F>
struct Answer {
    std::shared_ptr<const typename F::Value> value;
    std::string problem;
    std::size_t done = 0, total = 0;
    std::shared_ptr<const typename F::Value> so_far{};  ///< while it is being computed: the part that is known, where the facet tells it
    explicit operator bool() const { return value != nullptr; }
    const typename F::Value& operator*() const { return *value; }
    const typename F::Value* operator->() const { return value.get(); }
    bool computing() const { return value == nullptr && problem.empty(); }
};

/// All facts of one moment. A value that is passed around; what it holds stays alive with it.
class Results {
public:
    using Facts = std::vector<std::shared_ptr<const Fact>>;
    Results() = default;
    explicit Results(std::shared_ptr<const Facts> facts) : facts_(std::move(facts)) {}

    /// Null when nothing is known of it.
    std::shared_ptr<const Fact> find(const Request& request) const;
    template <class F>
    Answer<F> find(const StateRef& state, const F& facet) const {
        return answer<F>(find({state, facet}).get());
    }
    /// The same, or where that is not there yet the newest of an earlier moment of its training run.
    template <class F>
    Answer<F> latest(const StateRef& state, const F& facet) const {
        return answer<F>(latest({state, facet}).get());
    }

    /// What is known of a facet of any state.
    template <class F>
    std::vector<std::shared_ptr<const typename F::Value>> all(const F& facet) const {
        std::vector<std::shared_ptr<const typename F::Value>> values;
        for (std::size_t i = 0; facts_ != nullptr && i < facts_->size(); ++i)
            if (const Fact& fact = *(*facts_)[i]; fact.value != nullptr && fact.request.facet == Facet(facet))
                values.push_back(std::static_pointer_cast<const typename F::Value>(fact.value));
        return values;
    }

    template <class F>
    static Answer<F> answer(const Fact* fact) {
        if (fact == nullptr) return {};
        const auto as_value = [](const std::shared_ptr<const void>& held) {
            return std::static_pointer_cast<const typename F::Value>(held);
        };
        return {as_value(fact->value), fact->problem, fact->done, fact->total, as_value(fact->so_far)};
    }

private:
    std::shared_ptr<const Fact> latest(const Request& request) const;
    std::shared_ptr<const Facts> facts_;
};

/// What one frame asks for, and what it is given.
class Inquiry {
public:
    /// Computes what was asked for and gives what there is then.
    using Wait = std::function<Results(const Request&)>;
    Inquiry() = default;
    /// With `wait`, nothing that is asked for is missing but what `wait` itself leaves out: for pictures that are drawn once, and for
    /// tests.
    explicit Inquiry(Results results, Wait wait = {}) : results_(std::move(results)), wait_(std::move(wait)) {}

    template <class F>
    Answer<F> ask(const StateRef& state, const F& facet) {
        note({state, facet});
        return kept(results_.find(state, facet));
    }
    /// While a run is followed, what is known of its last moments serves until there is newer.
    template <class F>
    Answer<F> ask_latest(const StateRef& state, const F& facet) {
        note({state, facet});
        return kept(results_.latest(state, facet));
    }

    /// The snapshot that has a stage of a computed state: of a large model that of the part around it, which is asked for; the outline
    /// until that is there. `head`: this head alone is looked at, and of a long text is all that is there (see Trace::find()). `maps`: of a
    /// long text its maps may be there as ReducedMap.
    const Snapshot& with(const StateRef& state, const Snapshot& snapshot, const StageId& id, std::optional<std::int64_t> head = {},
                         MapsWanted maps = MapsWanted::Numbers);

    /// Why that snapshot lacks the stage: it is being computed, or cannot be; "" when it has it.
    std::string missing(const StateRef& state, const Snapshot& snapshot, const StageId& id, std::optional<std::int64_t> head = {},
                        MapsWanted maps = MapsWanted::Numbers);

    /// What is not there after it was asked for will not come.
    bool waits() const { return wait_ != nullptr; }
    const std::vector<Request>& wanted() const { return wanted_; }
    /// The tensors that were given: as long as somebody keeps them, no newer one has the address of any of them.
    std::vector<std::shared_ptr<const void>> take_tensors() { return std::move(tensors_); }

private:
    void note(Request request);
    template <class F>
    Answer<F> kept(Answer<F> answer) {
        if (answer && F::kInfo.tensors) keep(answer.value);
        if (answer.so_far != nullptr && F::kInfo.tensors) keep(answer.so_far);
        return answer;
    }
    void keep(std::shared_ptr<const void> value);

    Results results_;
    Wait wait_;
    std::vector<Request> wanted_;
    std::vector<std::shared_ptr<const void>> tensors_;
};

}  // namespace attn::app
