#include "app/session/facets/results.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/session/facets/snapshot.hpp"

namespace attn::app {

Results::Results(Facts facts) {
    auto known = std::make_shared<Known>();
    known->facts = std::move(facts);
    known->by_request.insert(known->facts.begin(), known->facts.end());
    known_ = std::move(known);
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
    const auto known = facts();
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& fact) {
        return fact->value != nullptr && fact->request.state == state && std::holds_alternative<facet::Beginning>(fact->request.facet);
    });
    return found == known.end() ? nullptr : *found;
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
    if (const auto fact = results_.find(request); wait_ && (fact == nullptr || !fact->settled())) results_ = wait_(request);
    wanted_.push_back(std::move(request));
}

void Inquiry::forget_parts() {
    std::erase_if(wanted_, [this](const Request& request) {
        if (!std::holds_alternative<facet::Inside>(request.facet)) return false;
        if (const auto fact = results_.find(request)) std::erase(tensors_, fact->value);
        noted_.erase(request);
        return true;
    });
}

void Inquiry::keep(std::shared_ptr<const void> value) {
    if (std::find(tensors_.begin(), tensors_.end(), value) == tensors_.end()) tensors_.push_back(std::move(value));
}

}  // namespace attn::app
