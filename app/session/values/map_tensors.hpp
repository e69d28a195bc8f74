#pragma once
/// What is computed from the maps and values of an attention as a whole.

#include <optional>

#include "app/session/values/facet.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn::app {
namespace facet {

/// An attention map averaged over its heads, [B,T,S].
struct HeadMean {
    using Value = Tensor<float>;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StageId stage;
    std::optional<Inside> part{};  ///< the part that holds the map. None: any that does
    static Job<Value> make(const HeadMean&, Ask& ask);
    bool operator==(const HeadMean&) const = default;
};

/// The norm of what each head would add from each key at a weight of 1, [B,H,S]; see value_norms().
struct ValueNorms {
    using Value = Tensor<float>;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StageId weights;
    /// For the attention that a map belongs to.
    static ValueNorms of(StageId map) { return {weights_of(map)}; }
    static Job<Value> make(const ValueNorms&, Ask& ask);
    bool operator==(const ValueNorms&) const = default;
};

}  // namespace facet
}  // namespace attn::app
