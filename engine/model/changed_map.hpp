#pragma once
/// Attention maps of long texts as somebody wants to see them: without the first key, times what they move, or what another text, model or
/// head has in their place. Changed row by row before they are reduced, so that no map is ever there as a whole.

#include <cstdint>
#include <optional>
#include <stop_token>

#include "engine/model/looked_at_part.hpp"

namespace attn {

/// A map of an outline, or of a trace, and what is known of the part that it is in; null: nothing.
struct MapOfOutline {
    const Trace<float>& outline;
    StageId id;
    const Trace<float>* held = nullptr;
};

struct MapChange {
    /// The first key is masked, and the weights of each row on the others are divided by their sum.
    bool without_first_key = false;
    /// [1,H,S]: each weight times that of its head and key; not of the mean. Null: as they are.
    const Tensor<float>* norms = nullptr;
    /// Less this map: of a weight a cell is masked where it is in both, and a masked one counts as 0; else where it is in either.
    std::optional<MapOfOutline> minus{};
    /// Of that this head alone (as many as the model has: their mean) instead of the same.
    std::optional<std::int64_t> minus_head{};
};

/// A region of a map so changed, of one head or of all and, of weights, of their mean, which is taken before anything is changed. Throws
/// Error where maps are not recorded with all heads and cannot be computed in rows, or have other sizes, Cancelled once `stop` is
/// requested.
ReducedMap region_of_changed_map(const MapOfOutline& map, const MapRegion& region, const MapChange& change,
                                 std::optional<std::int64_t> only_head = {}, std::stop_token stop = {});

}  // namespace attn
