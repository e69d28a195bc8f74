#pragma once
/// Results computed so far, and the interface through which views request them.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "app/session/document/field.hpp"
#include "app/session/values/facet.hpp"
#include "app/session/values/part_looked_at.hpp"

namespace attn::app {

/// The outcome of a request. Immutable.
struct Fact {
    Request request;
    std::shared_ptr<const void> value;   ///< the facet's Value; null until computed
    std::string problem;                 ///< why it could not be computed
    Field field = Field::None;           ///< the setting that `problem` refers to
    std::size_t done = 0, total = 0;     ///< progress, if the facet reports it
    std::shared_ptr<const void> so_far;  ///< the partial value, if the facet reports one
    double mib = 0;                      ///< memory that the value takes
    std::chrono::steady_clock::time_point begun, ended;
    bool settled() const { return value != nullptr || !problem.empty(); }
};

/// Why there are no numbers: they are awaited, or cannot be had. Empty if there are some.
struct Reason {
    std::string words{};  ///< one sentence
    bool waits = false;
    static Reason waiting(std::string words) { return {std::move(words), true}; }
    bool empty() const { return words.empty(); }
};

/// A facet's value, or the reason why there is none: a problem, or it is still being computed.
template <class F>
struct Answer {
    std::shared_ptr<const typename F::Value> value;
    std::string problem;
    std::size_t done = 0, total = 0;
    std::shared_ptr<const typename F::Value> so_far{};  ///< the partial value while computing, if the facet reports one
    explicit operator bool() const { return value != nullptr; }
    const typename F::Value& operator*() const { return *value; }
    const typename F::Value* operator->() const { return value.get(); }
    bool computing() const { return value == nullptr && problem.empty(); }
};

/// A set of facts. Cheap to copy; keeps its values alive. Immutable but for put(), which also changes all copies that were made before.
class Results {
public:
    using Facts = std::vector<std::shared_ptr<const Fact>>;  ///< newest first, no two of the same request
    Results() = default;
    explicit Results(Facts facts);

    std::span<const std::shared_ptr<const Fact>> facts() const;

    /// A fact takes the place of what is known about its request, which is returned, and is the newest.
    std::shared_ptr<const Fact> put(const std::shared_ptr<const Fact>& fact);
    /// The same facts, in an object of their own.
    Results of_its_own() const { return known_ == nullptr ? Results() : Results(known_->facts); }

    /// Whether the request has neither a value nor a problem yet.
    bool is_open(const Request& request) const {
        const std::shared_ptr<const Fact> fact = find(request);
        return fact == nullptr || !fact->settled();
    }
    /// Null if nothing is known about the request.
    std::shared_ptr<const Fact> find(const Request& request) const;
    template <class F>
    Answer<F> find(const StateRef& state, const F& facet) const {
        return answer<F>(find({state, facet}).get());
    }
    /// The same, but falls back to the newest value from an earlier moment of the same training run.
    template <class F>
    Answer<F> latest(const StateRef& state, const F& facet) const {
        return answer<F>(latest({state, facet}).get());
    }

    /// The facts of these requests alone, so that no other values are kept alive.
    Results of(const std::vector<Request>& requests) const;

    /// The beginning of a state's pass (facet::Beginning), if it is known.
    std::shared_ptr<const Fact> begun(const StateRef& state) const;

    /// The values of a facet for all states.
    template <class F>
    std::vector<std::shared_ptr<const typename F::Value>> all(const F& facet) const {
        std::vector<std::shared_ptr<const typename F::Value>> values;
        const Facet wanted(facet);
        for (const auto& fact : facts())
            if (fact->value != nullptr && fact->request.facet == wanted)
                values.push_back(std::static_pointer_cast<const typename F::Value>(fact->value));
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
    /// By the request, so that a fact is found without comparing it with all others.
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const Request& request) const { return RequestHash{}(request); }
        std::size_t operator()(const std::shared_ptr<const Fact>& fact) const { return RequestHash{}(fact->request); }
    };
    struct SameRequest {
        using is_transparent = void;
        bool operator()(const auto& a, const auto& b) const { return request_of(a) == request_of(b); }
        static const Request& request_of(const Request& request) { return request; }
        static const Request& request_of(const std::shared_ptr<const Fact>& fact) { return fact->request; }
    };
    struct Known {
        Facts facts;
        std::unordered_set<std::shared_ptr<const Fact>, Hash, SameRequest> by_request;
        Facts begun;  ///< the beginnings of passes
    };

    std::shared_ptr<const Fact> latest(const Request& request) const;
    std::shared_ptr<Known> known_;
};

/// Collects the requests of one frame and answers them from the results so far.
class Inquiry {
public:
    /// Computes a request and returns the results including it.
    using Wait = std::function<Results(const Request&)>;
    Inquiry() = default;
    /// With `wait`, every request is computed before it is answered, except those that `wait` skips: for rendering single pictures and for
    /// tests.
    explicit Inquiry(Results results, Wait wait = {}) : results_(std::move(results)), wait_(std::move(wait)) {}

    template <class F>
    Answer<F> ask(const StateRef& state, const F& facet) {
        note({state, facet});
        return kept(results_.find(state, facet));
    }
    /// Like ask(), but answers from the latest moments of a followed run until the requested one is ready.
    template <class F>
    Answer<F> ask_latest(const StateRef& state, const F& facet) {
        note({state, facet});
        return kept(results_.latest(state, facet));
    }

    /// The snapshot that contains a stage. For a large model this requests the part around the stage and returns the outline until the part
    /// is ready. `head`: only this head is needed, and for a long text only its maps may be held (see Trace::find()). `maps`: for a long
    /// text, whether maps may be given as ReducedMap.
    const Snapshot& with(const StateRef& state, const Snapshot& snapshot, const StageId& id, std::optional<std::int64_t> head = {},
                         MapsWanted maps = MapsWanted::Numbers);

    /// Why that snapshot lacks the stage; empty if it has it.
    Reason missing(const StateRef& state, const Snapshot& snapshot, const StageId& id, std::optional<std::int64_t> head = {},
                   MapsWanted maps = MapsWanted::Numbers);

    /// Takes back the requests for parts (facet::Inside) so far. Otherwise, in the frame in which another view is chosen, the parts of both
    /// views would be in memory.
    void forget_parts();

    /// Requests are computed synchronously: a value that is missing after ask() will never come.
    bool waits() const { return wait_ != nullptr; }
    const std::vector<Request>& wanted() const { return wanted_; }

private:
    void note(Request request);
    template <class F>
    Answer<F> kept(Answer<F> answer) {
        if (waits()) handed_out_.insert(handed_out_.end(), {answer.value, answer.so_far});
        return answer;
    }

    Results results_;
    Wait wait_;
    std::vector<Request> wanted_;
    std::unordered_set<Request, RequestHash> noted_;  ///< the same, to be found quickly
    /// What a frame points into, although newer results may have dropped it.
    std::vector<std::shared_ptr<const void>> handed_out_;
};

}  // namespace attn::app
