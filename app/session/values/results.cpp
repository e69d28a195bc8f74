#include "app/session/values/results.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/session/values/snapshot.hpp"

namespace attn::app {
namespace {

bool is_beginning(const Fact& fact) { return fact.value != nullptr && fact.request.facet.as<facet::Beginning>() != nullptr; }

}  // namespace

Results::Results(Facts facts) : known_(std::make_shared<Known>()) {
    known_->facts = std::move(facts);
    known_->by_request.insert(known_->facts.begin(), known_->facts.end());
    for (const auto& fact : known_->facts)
        if (is_beginning(*fact)) known_->begun.push_back(fact);
}

std::shared_ptr<const Fact> Results::put(const std::shared_ptr<const Fact>& fact) {
    if (known_ == nullptr) known_ = std::make_shared<Known>();
    std::shared_ptr<const Fact> replaced;
    if (const auto known = known_->by_request.find(fact); known != known_->by_request.end()) {
        replaced = *known;
        known_->by_request.erase(known);
        std::erase(known_->facts, replaced);
        std::erase(known_->begun, replaced);
    }
    known_->by_request.insert(fact);
    known_->facts.insert(known_->facts.begin(), fact);
    if (is_beginning(*fact)) known_->begun.push_back(fact);
    return replaced;
}

std::span<const std::shared_ptr<const Fact>> Results::facts() const {
    return known_ == nullptr ? std::span<const std::shared_ptr<const Fact>>() : known_->facts;
}

std::shared_ptr<const Fact> Results::find(const Request& request) const {
    if (known_ == nullptr) return nullptr;
    const auto found = known_->by_request.find(request);
    return found == known_->by_request.end() ? nullptr : *found;
}

Results Results::of(const std::vector<Request>& requests) const {
    Facts some;
    for (const Request& request : requests)
        if (auto fact = find(request)) some.push_back(std::move(fact));
    return Results(std::move(some));
}

std::shared_ptr<const Fact> Results::begun(const StateRef& state) const {
    if (known_ == nullptr) return nullptr;
    for (const auto& fact : known_->begun)
        if (fact->request.state == state) return fact;
    return nullptr;
}

std::shared_ptr<const Fact> Results::latest(const Request& request) const {
    std::shared_ptr<const Fact> best = find(request);
    if (request.state == nullptr || (best != nullptr && best->settled())) return best;
    for (const auto& fact : facts()) {
        if (fact->value == nullptr || fact->request.state == nullptr || fact->request.facet != request.facet) continue;
        if (!same_but_for_moment(*fact->request.state, *request.state)) continue;
        if (best == nullptr || best->value == nullptr || best->ended < fact->ended) best = fact;
    }
    return best;
}

const Snapshot& Inquiry::with(const StateRef& state, const Snapshot& snapshot, const StageId& id, std::optional<std::int64_t> head,
                              MapsWanted maps) {
    const Trace<float>& trace = *snapshot.trace;
    if (trace.whole() || trace.plan->find(id) == nullptr) return snapshot;
    const auto inside = ask(state, inside_with(trace, id, head, maps));
    return inside ? *inside : snapshot;
}

Reason Inquiry::missing(const StateRef& state, const Snapshot& snapshot, const StageId& id, std::optional<std::int64_t> head,
                        MapsWanted maps) {
    const Trace<float>& trace = *snapshot.trace;
    if (trace.plan->find(id) == nullptr) return {"This model has no such stage."};
    const Trace<float>& held = *with(state, snapshot, id, head, maps).trace;
    if ((head ? held.find(id, *head) : held.find(id)) != nullptr || held.reduced_map(id) != nullptr) return {};
    const auto inside = ask(state, inside_with(trace, id, head, maps));
    if (!inside.problem.empty()) return {inside.problem};
    return Reason::waiting(inside.total == 0 ? "Computing …" : fmt::format("Computing … {} %", 100 * inside.done / inside.total));
}

void Inquiry::note(Request request) {
    if (!noted_.insert(request).second) return;
    if (wait_ && results_.is_open(request)) results_ = wait_(request);
    wanted_.push_back(std::move(request));
}

void Inquiry::forget_parts() {
    std::erase_if(wanted_, [this](const Request& request) {
        if (request.facet.as<facet::Inside>() == nullptr) return false;
        if (const auto fact = results_.find(request)) std::erase(handed_out_, fact->value);
        noted_.erase(request);
        return true;
    });
}

}  // namespace attn::app
