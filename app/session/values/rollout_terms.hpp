#pragma once
/// The arithmetic of one cell of an attention rollout: R[t,s] = Σ over j of Ã[t,j] R[j,s], where the right R is that of the layer before.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/session/values/facet.hpp"
#include "app/session/values/totals_slice.hpp"
#include "engine/trace/attention_totals.hpp"

namespace attn::app {

struct RolloutTerms {
    /// A path through position `through`: its share Ã[t,through] of what arrived there.
    struct Term {
        std::int64_t through = 0;
        double share = 0, before = 0, product = 0;
    };
    static constexpr std::size_t kMost = 12;
    std::uint64_t readings = 0;  ///< serial number of the readings they are of
    std::vector<Term> largest;   ///< up to kMost, largest first, NaN before them; without those that are 0
    std::size_t count = 0;       ///< of all that are not 0
    double sum = 0;              ///< of all
};

/// Throws Error for a cell that does not exist, or that is not held in full.
RolloutTerms rollout_terms(const AttentionTotals& totals, std::size_t layer, std::int64_t sequence, std::int64_t query, std::int64_t key);

namespace facet {

/// The arithmetic of one cell of an attention rollout, for texts whose totals are held in full.
struct RolloutTerms {
    using Value = app::RolloutTerms;
    static constexpr FacetInfo kInfo{};  // patient like the totals
    TotalsSlice::Place at{};
    std::int64_t query = 0, key = 0;
    static Job<Value> make(const RolloutTerms&, Ask& ask);
    bool operator==(const RolloutTerms&) const = default;
};

}  // namespace facet

}  // namespace attn::app
