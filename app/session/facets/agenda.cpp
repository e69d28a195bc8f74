#include "app/session/facets/agenda.hpp"

#include <algorithm>
#include <utility>

#include "app/session/values/snapshot.hpp"

namespace attn::app {
namespace {

/// Whether a facet of a state is asked for before anything is known of its pass. Then it waits for that before its make() is called: nearly
/// every facet would come no further, and to leave make() takes a few microseconds, while a view may ask for hundreds of facets with every
/// letter that is typed.
bool comes_before_pass(const Request& request, const Results& results) {
    if (request.state == nullptr || is_pass(request.facet)) return false;
    return results.is_open({request.state, facet::Trace{}}) && results.begun(request.state) == nullptr;
}

}  // namespace

const Agenda::Entry& Agenda::Entry::next() const {
    for (const Entry* need : needs)
        if (need->is_open()) return need->next();
    return *this;
}

bool Agenda::Entry::needs_directly(const Request& need) const {
    return std::any_of(needs.begin(), needs.end(), [&](const Entry* one) { return *one->request == need; });
}

void Agenda::renew(const Results& results, const Entries& before) {
    entries_.clear();
    wanted_entries_.clear();
    for (std::size_t i = 0; i < wanted_.size(); ++i) wanted_entries_.push_back(&add(wanted_[i], 2 * i + 1, results, before));
}

Agenda::Entry& Agenda::add(const Request& request, std::size_t turn, const Results& results, const Entries& before) {
    const auto [at, is_new] = entries_.try_emplace(request);
    Entry& entry = at->second;
    if (!is_new && entry.turn <= turn) return entry;
    entry.turn = turn;
    if (!is_new) {
        for (const Entry* need : entry.needs) add(*need->request, turn / 2 * 2, results, before);
        return entry;
    }
    entry.request = &at->first;
    entry.fact = results.find(request);
    if (const auto known = before.find(request); known != before.end()) {
        std::vector<Request> needs;
        for (const Entry* need : known->second.needs) needs.push_back(*need->request);
        record(entry, needs, known->second.waits, results, before);
    } else if (comes_before_pass(request, results)) {
        record(entry, {{request.state, facet::Trace{}}}, true, results, before);
    } else {
        const Asked asked = asked_by(request, results);
        record(entry, asked.needs, asked.waits(), results, before);
    }
    return entry;
}

void Agenda::record(Entry& entry, const std::vector<Request>& needs, bool waits, const Results& results, const Entries& before) {
    entry.needs.clear();
    for (const Request& need : needs) entry.needs.push_back(&add(need, entry.turn / 2 * 2, results, before));
    entry.waits = waits;
    if (waits) entry.needs.back()->waiting.push_back(&entry);
}

void Agenda::learn(const std::shared_ptr<const Fact>& fact, const Results& results) {
    // A request may now be computed from another pass than from the one, or the beginning of one, that it asked for before.
    if (fact->value != nullptr && is_pass(fact->request.facet)) return renew(results, {});
    const auto at = entries_.find(fact->request);
    if (at == entries_.end()) return;
    at->second.fact = fact;
    if (!fact->settled()) return;
    for (const Entry* waiting : std::exchange(at->second.waiting, {})) ask(*waiting->request, results);
}

void Agenda::forget(const Request& request) {
    if (const auto at = entries_.find(request); at != entries_.end()) at->second.fact = nullptr;
}

Asked Agenda::ask(const Request& request, const Results& results) {
    Asked asked = asked_by(request, results);
    if (const auto at = entries_.find(request); at != entries_.end()) record(at->second, asked.needs, asked.waits(), results, {});
    return asked;
}

const Agenda::Entry* Agenda::find(const Request& request) const {
    const auto at = entries_.find(request);
    return at == entries_.end() ? nullptr : &at->second;
}

}  // namespace attn::app
