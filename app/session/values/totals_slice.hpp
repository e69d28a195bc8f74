#pragma once
/// The attention accumulated over some layers, or its difference between two states.

#include <cstddef>
#include <cstdint>

#include "app/session/states/state.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/facet.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {
namespace facet {

/// One sequence of the attention accumulated over the layers 0 to `layer` (see AttentionTotals), or its difference from another state's;
/// for texts whose totals are held in full.
struct TotalsSlice {
    using Value = app::ChangedSlice;
    static constexpr FacetInfo kInfo{};  // patient like the totals; kept by the desk that draws it
    struct Place {
        Stack stack = Stack::Main;
        std::size_t layer = 0;
        std::int64_t sequence = 0;
        bool operator==(const Place&) const = default;
    };
    bool rollout = false;  ///< else the mean
    Place at{};
    StateRef minus{};  ///< subtract this state's; null: subtract nothing
    Place minus_at{};
    static Job<Value> make(const TotalsSlice&, Ask& ask);
    bool operator==(const TotalsSlice&) const = default;
};

}  // namespace facet
}  // namespace attn::app
