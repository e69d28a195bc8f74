#pragma once
/// Where two states differ.

#include <optional>

#include "app/session/states/state.hpp"
#include "app/session/values/facet.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {
namespace facet {

/// Whether another state has exactly the same numbers.
struct SameNumbers {
    using Value = bool;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .comes_by_itself = true};
    StateRef other;
    static Job<Value> make(const SameNumbers&, Ask& ask);
    bool operator==(const SameNumbers&) const = default;
};

/// The first stage, in order of computation, whose numbers differ from those of another state; none if all are the same. For whole traces.
struct FirstDifference {
    using Value = std::optional<StageId>;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .comes_by_itself = true};
    StateRef other;
    static Job<Value> make(const FirstDifference&, Ask& ask);
    bool operator==(const FirstDifference&) const = default;
};

}  // namespace facet
}  // namespace attn::app
