#pragma once
/// Attention maps of long texts with changes for display: without the first key, weighted by norms, or as a difference from another map.
/// Rows are changed before they are reduced, so that no whole map is ever in memory.

#include <cstdint>
#include <optional>
#include <stop_token>

#include "engine/model/looked_at_part.hpp"

namespace attn {

/// A map of an outline or trace, and what is already known of the part of the model that it belongs to (null: nothing).
struct MapOfOutline {
    const Trace<float>& outline;
    StageId id;
    const Trace<float>* held = nullptr;
};

struct MapChange {
    /// Mask the first key and divide each row's other weights by their sum.
    bool without_first_key = false;
    /// [1,H,S]: factor of every weight, per head and key; not applied to the mean. Null: no factors.
    const Tensor<float>* norms = nullptr;
    /// Subtract this map. In weights a masked cell counts as 0 and the result is masked where both maps are; in other stages it is masked
    /// where either is.
    std::optional<MapOfOutline> minus{};
    /// The head of the map to subtract, instead of the same one; the number of heads stands for their mean.
    std::optional<std::int64_t> minus_head{};
};

/// A region of the changed map, of one head or of all heads and, for weights, their mean, which is taken before any change. Throws Error if
/// the two maps differ in size or if a map is neither recorded with all heads nor computable in rows, Cancelled once `stop` is requested.
ReducedMap region_of_changed_map(const MapOfOutline& map, const MapRegion& region, const MapChange& change,
                                 std::optional<std::int64_t> only_head = {}, std::stop_token stop = {});

}  // namespace attn
