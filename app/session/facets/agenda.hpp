#pragma once
/// What there is to compute: the wanted requests and all that they are computed from.

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/session/facets/ask.hpp"
#include "app/session/values/facet.hpp"
#include "app/session/values/results.hpp"

namespace attn::app {

/// A graph of requests: what each of them asked for when its make() was called, as far as it came with what was known. It is called when a
/// request becomes wanted or needed, when what it waited for arrives, and when another pass is known. `results` are always those that are
/// known by now.
class Agenda {
public:
    /// A request that is wanted, or that a wanted one depends on.
    struct Entry {
        const Request* request = nullptr;
        std::shared_ptr<const Fact> fact{};  ///< what is known of it; null if nothing
        std::size_t turn = 0;                ///< 2 i: the wanted request i is the first that depends on it; 2 i + 1: it is that request
        std::vector<Entry*> needs{};         ///< what it asked for itself
        bool waits = false;                  ///< for the last of them
        std::vector<Entry*> waiting{};       ///< those that wait for it

        bool is_open() const { return fact == nullptr || !fact->settled(); }
        /// The first open request among all that it depends on; itself if there is none.
        const Entry& next() const;
        bool needs_directly(const Request& need) const;
    };
    using Entries = std::unordered_map<Request, Entry, RequestHash>;

    Agenda() = default;
    Agenda(Agenda&&) = default;
    Agenda& operator=(Agenda&&) = default;
    /// `before`: what was asked for until now.
    Agenda(std::vector<Request> wanted, const Results& results, const Agenda& before = {}) : wanted_(std::move(wanted)) {
        renew(results, before.entries_);
    }
    /// Something new is known.
    void learn(const std::shared_ptr<const Fact>& fact, const Results& results);
    /// Nothing is known of a request any more.
    void forget(const Request& request);

    const std::vector<Request>& wanted() const { return wanted_; }
    /// In the same order.
    const std::vector<const Entry*>& wanted_entries() const { return wanted_entries_; }
    const Entries& entries() const { return entries_; }
    /// Null if it is not asked for.
    const Entry* find(const Request& request) const;
    /// Calls the request's make() now.
    Asked ask(const Request& request, const Results& results);

private:
    void renew(const Results& results, const Entries& before);
    Entry& add(const Request& request, std::size_t turn, const Results& results, const Entries& before);
    void record(Entry& entry, const std::vector<Request>& needs, bool waits, const Results& results, const Entries& before);

    std::vector<Request> wanted_;
    std::vector<const Entry*> wanted_entries_;
    Entries entries_;
};

}  // namespace attn::app
